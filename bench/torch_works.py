"""The PyTorch side of compare_torch.py: its cases, each in its own process, and the part of the configuration that they need."""

import itertools
import json
import pathlib
import resource
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))  # torch_gpt.py: the model that the golden tests are made with


class Problem(Exception):
    """An error message and the exit code: 2 for bad input or missing software, 1 for a failure."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


# The part of the configuration on which a training step depends.


def load_config(path, assignments=()):
    try:
        import tomllib
    except ImportError:
        raise Problem(f"{sys.executable} is Python {sys.version.split()[0]}, which has no tomllib: run this with Python 3.11 or later, "
                      "on Debian /usr/bin/python3")
    try:
        config = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}; --config takes a TOML file such as configs/shakespeare-char.toml")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Problem(f"{path} is not TOML: {error}")
    for section in ("model", "tokenizer", "data", "optim", "train"):
        if not isinstance(config.setdefault(section, {}), dict):
            raise Problem(f"{path}: {section} is {config[section]!r}, expected a section [{section}]")
    for assignment in assignments:
        key, value = assignment.split("=")
        section, name = key.split(".")
        config[section][name] = int(value) if value.isdigit() else value
    return config


def needed(config, section, name):
    if name not in config[section]:
        raise Problem(f"the configuration has no {section}.{name}, and PyTorch's model cannot be built without it: add it to the file")
    return config[section][name]


def vocab_size(config):
    """model.vocab_size, or the tokenizer's: 256 bytes, or the distinct characters of the corpus."""
    if "vocab_size" in config["model"]:
        return config["model"]["vocab_size"]
    if needed(config, "tokenizer", "kind") == "byte":
        return 256
    corpus = config["data"].get("corpus", [])
    characters = set()
    for name in corpus if isinstance(corpus, list) else [corpus]:
        try:
            characters.update((ROOT / str(name)).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"the vocabulary is not known, since the corpus {name} cannot be read ({error}): give --vocab-size")
    if not characters:
        raise Problem("the vocabulary is not known, as the configuration has neither model.vocab_size nor data.corpus: give --vocab-size")
    return len(characters)


def model_shape(config):
    """The arguments of GPTConfig."""
    model = config["model"]
    bias = model.get("bias", True)
    return {
        **{name: needed(config, "model", name) for name in ("n_layer", "n_head", "n_embd", "block_size")},
        "vocab_size": vocab_size(config), "dropout": model.get("dropout", 0.0), "bias": bias, "qkv_bias": model.get("qkv_bias", bias),
        "tie_embeddings": model.get("tie_embeddings", True)}


# PyTorch's side, in its own process.


def is_current():
    """Whether this PyTorch has what a program of today uses: fused attention, a fused AdamW for CPUs, and torch.compile."""
    import torch

    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 4)


def training_step(config, autocast=False, compiled=False):
    """A closure that runs one whole training step. With autocast, products are of bf16 as torch.autocast chooses them; compiled, the model and
    its loss go through torch.compile."""
    import torch
    from torch_gpt import GPT, GPTConfig, adamw, mean_loss

    torch.manual_seed(1)
    shape = GPTConfig(**model_shape(config), fused_attention=is_current())
    model = GPT(shape)
    model.initialize()

    def loss_of(inputs, targets):
        return mean_loss(model(inputs), targets)

    if compiled:
        loss_of = torch.compile(loss_of)
    optim, batch_size = config["optim"], needed(config, "train", "batch_size")
    betas = (optim.get("beta1", 0.9), optim.get("beta2", 0.99))
    optimizer = adamw(model, optim.get("learning_rate", 1e-3), betas, optim.get("weight_decay", 0.1), **fused())
    max_norm = optim.get("grad_clip", 1.0)
    micro_batches = config["train"].get("gradient_accumulation_steps", 1)
    batches = itertools.cycle(torch.randint(shape.vocab_size, (8, 2, batch_size, shape.block_size)))

    def step():
        for _ in range(micro_batches):
            inputs, targets = next(batches)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                loss = loss_of(inputs, targets) / micro_batches
            loss.backward()
        if max_norm > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def fused():
    """What makes torch.optim.AdamW update all parameters in one kernel, where it can."""
    return {"fused": True} if is_current() else {}


def leaves(*shapes):
    import torch

    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def attention(time):
    """Causal attention, 12 heads of 64, one sequence: forward and backward."""
    def work(_):
        import torch

        q, k, v = leaves(*[(1, 12, time, 64)] * 3)
        dy = torch.randn(1, 12, time, 64)
        unseen = torch.ones(time, time).triu(1).bool()

        def run():
            if is_current():
                torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(dy)
            else:
                scores = (q @ k.transpose(-2, -1)) * 64**-0.5
                (torch.softmax(scores.masked_fill(unseen, float("-inf")), dim=-1) @ v).backward(dy)
            q.grad = k.grad = v.grad = None

        return run

    return work


def head(_):
    """Linear and cross-entropy, 1024 x 768 x 50257: forward and backward."""
    import torch
    from torch_gpt import mean_loss

    x, weight = leaves((1024, 768), (50257, 768))
    targets = torch.randint(50257, (1024,))

    def run():
        mean_loss(torch.nn.functional.linear(x, weight), targets).backward()
        x.grad = weight.grad = None

    return run


def gelu(_):
    """GELU of 1024 x 3072, in its tanh form: forward and backward."""
    import torch

    (x,) = leaves((1024, 3072))
    dy = torch.randn(1024, 3072)

    def run():
        torch.nn.functional.gelu(x, approximate="tanh").backward(dy)
        x.grad = None

    return run


def update(config):
    """AdamW with clipping, of GPT-2's parameters."""
    import torch
    from torch_gpt import GPT, GPTConfig, adamw

    model = GPT(GPTConfig(**model_shape(config)))
    optimizer = adamw(model, 1e-4, (0.9, 0.95), 0.1, **fused())
    for p in model.parameters():
        p.grad = torch.full_like(p, 1e-3)

    def run():
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def blas_library():
    """The library that computes PyTorch's matrix products, as the process has it mapped."""
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
    return next((path for path in sorted(mapped) if any(name in path for name in ("openblas", "mkl_", "libblas", "blis"))), "unknown")


def torch_worker(work, config, args):
    import torch

    torch.set_num_threads(args.threads)
    torch.ones(2, 2) @ torch.ones(2, 2)  # maps the library of the products
    about = {"threads": torch.get_num_threads(), "torch": torch.__version__, "blas": blas_library(), "current": is_current()}
    if work is None or work.whole_process:
        if work:
            torch_recipe(config, args.corpus)
        print(json.dumps(about))
        return
    form = {name: True for name in ("autocast", "compiled") if getattr(args, name)}
    step = work.torch(config, **form)
    for _ in range(args.warmup):
        step()
    milliseconds = []
    for _ in range(args.steps):
        start = time.perf_counter()
        step()
        milliseconds.append(1e3 * (time.perf_counter() - start))
    print(json.dumps(about | {
        "ms_median": statistics.median(milliseconds), "ms_min": min(milliseconds), "ms_max": max(milliseconds),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


EVALUATIONS, EVAL_BATCHES = 9, 20


def torch_recipe(config, corpus):
    """nanoGPT's train.py on a text of characters, without the parts that dikkat does not have."""
    import math

    import torch
    from torch_gpt import GPT, GPTConfig, adamw, mean_loss

    torch.manual_seed(1)
    text = pathlib.Path(corpus).read_text(encoding="utf-8")
    ids = {character: i for i, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([ids[character] for character in text])
    cut = int(0.9 * len(tokens))
    config["model"]["vocab_size"] = len(ids)
    shape, optim, train = GPTConfig(**model_shape(config), fused_attention=is_current()), config["optim"], config["train"]
    model = GPT(shape)
    model.initialize()
    optimizer = adamw(model, optim["learning_rate"], (optim["beta1"], optim["beta2"]), optim["weight_decay"], **fused())

    def loss_of(part):
        starts = torch.randint(len(part) - shape.block_size, (train["batch_size"],))
        windows = torch.stack([part[i:i + shape.block_size + 1] for i in starts])
        return mean_loss(model(windows[:, :-1]), windows[:, 1:].contiguous())

    def learning_rate(step):
        if step < optim["warmup_steps"]:
            return optim["learning_rate"] * (step + 1) / (optim["warmup_steps"] + 1)
        done = (step - optim["warmup_steps"]) / (optim["decay_steps"] - optim["warmup_steps"])
        return optim["min_lr"] + (1 + math.cos(math.pi * done)) / 2 * (optim["learning_rate"] - optim["min_lr"])

    best = math.inf
    with tempfile.TemporaryDirectory() as folder:
        for step in range(train["max_steps"]):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step)
            loss = loss_of(tokens[:cut])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), optim["grad_clip"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
            if evaluates(step + 1, train["max_steps"]):
                model.eval()
                with torch.no_grad():
                    losses = [statistics.fmean(loss_of(part).item() for _ in range(EVAL_BATCHES)) for part in (tokens[:cut], tokens[cut:])]
                model.train()
                best = min(best, losses[1])
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, pathlib.Path(folder) / "checkpoint.pt")
    print(f"PyTorch's recipe: best validation loss {best:.3f}", file=sys.stderr)


def evaluation_interval(steps):
    """The steps between evaluations: there are EVALUATIONS of them, the last one after the last step."""
    return -(-steps // EVALUATIONS)


def evaluates(step, steps):
    return step == steps or step % evaluation_interval(steps) == 0
