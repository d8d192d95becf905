#include "train/config/data_config.h"

namespace dikkat {

std::vector<DataSource> DataConfig::all_sources() const {
  return sources.empty() ? std::vector<DataSource>{{.corpus = corpus, .validation = validation}} : sources;
}

std::vector<std::string> DataConfig::training_paths() const {
  std::vector<std::string> paths;
  for (const DataSource& source : all_sources()) {
    paths.insert(paths.end(), source.corpus.begin(), source.corpus.end());
  }
  return paths;
}

std::vector<std::vector<std::string>*> DataConfig::all_paths() {
  std::vector<std::vector<std::string>*> paths = {&corpus, &validation};
  for (DataSource& source : sources) {
    paths.push_back(&source.corpus);
    paths.push_back(&source.validation);
  }
  for (EvaluationSource& text : evaluations) {
    paths.push_back(&text.corpus);
  }
  return paths;
}

}  // namespace dikkat
