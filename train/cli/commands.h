#pragma once

#include "train/cli/command.h"

// Each function adds one command, or one group of commands, and is defined in the file named after it.
namespace dikkat {

void add_assistant(Commands& program);
void add_train(Commands& program);
void add_finetune(Commands& program);
void add_resume(Commands& program);
void add_eval(Commands& program);
void add_embed(Commands& program);
void add_sample(Commands& program);
void add_import(Commands& program);
void add_chat(Commands& program);
void add_classify(Commands& program);
void add_serve(Commands& program);
void add_merge(Commands& program);
void add_teach(Commands& program);
void add_export(Commands& program);
void add_export_metrics(Commands& program);
void add_inspect(Commands& program);
void add_report(Commands& program);
void add_watch(Commands& program);
void add_runs(Commands& program);
void add_verify(Commands& program);
void add_plan(Commands& program);
void add_bench(Commands& program);
void add_sweep(Commands& program);
void add_tokenizer(Commands& program);
void add_corpus(Commands& program);
void add_cache(Commands& program);
void add_config(Commands& program);
void add_completion(Commands& program);
void add_man(Commands& program);  // in completion_command.cpp

}  // namespace dikkat
