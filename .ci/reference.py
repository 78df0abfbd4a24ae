"""Run transformers' Gemma 4 on small random models and keep its logits in turboquant/data/gemma4_reference.npz.

`make reference` calls it. It makes an environment of its own (about 1.5 GB, with PyTorch) in .venv-reference, because the
book itself needs no PyTorch. Weights are drawn from each tensor's name, so that the notebook can draw the same ones."""
import json, os, subprocess, sys, venv, zlib
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
OUT = HOME/'turboquant'/'data'/'gemma4_reference.npz'
PINS = ['torch==2.13.0', 'transformers==5.24.0', 'numpy<3']
LENGTH, ROWS = 116, (50, 37, 12)                       # one long text, three short ones of different lengths


def configs():
    "The four small configurations, as chapter 12's `tiny` writes them"
    sys.path.insert(0, str(HOME))
    code = "import json; from turboquant.gemma4 import tiny, GEMMA4; print(json.dumps({k: tiny(k) for k in GEMMA4}))"
    python = os.environ.get('TURBOQUANT_PYTHON', str(HOME/'.venv/bin/python'))
    return json.loads(subprocess.check_output([python, '-c', code], cwd=HOME))


def draw(name, shape):
    "The weights of the tensor `name`"
    import numpy as np
    x = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape).astype(np.float32)
    if name.endswith('layer_scalar'): return 1 + x/10
    if name.endswith(('q_norm.weight', 'k_norm.weight')): return .5 + x/10
    if x.ndim == 1: return 1 + x/5
    return x if 'embed_tokens' in name else x/np.float32(x.shape[-1]**.5)


def run(kind, conf):
    "Logits of transformers' model of `kind`, and the tensors that it has"
    import numpy as np, torch
    from transformers import Gemma4TextConfig, Gemma4ForCausalLM
    torch.manual_seed(0)
    c = Gemma4TextConfig(**conf, rope_parameters=None, attn_implementation='eager', experts_implementation='eager')
    model = Gemma4ForCausalLM(c).eval()
    state = {k: v for k, v in model.state_dict().items() if k != 'lm_head.weight'}
    with torch.no_grad():
        for k, v in state.items(): v.copy_(torch.from_numpy(draw(k, tuple(v.shape))))
    ids = np.random.default_rng(7).integers(3, conf['vocab_size'], (1, LENGTH))
    out = {f'{kind}.ids': ids.astype(np.int32), f'{kind}.logits': model(torch.from_numpy(ids)).logits[0].detach().numpy()}
    n = max(ROWS)
    rows, mask = np.zeros((len(ROWS), n), int), np.zeros((len(ROWS), n), int)
    for r, l in enumerate(ROWS): rows[r, n - l:], mask[r, n - l:] = ids[0, :l], 1
    y = model(torch.from_numpy(rows), attention_mask=torch.from_numpy(mask), position_ids=torch.from_numpy((mask.cumsum(1) - 1).clip(0))).logits
    out[f'{kind}.rows'] = y[:, -1].detach().numpy()
    return out, {k: list(v.shape) for k, v in state.items()}


def main():
    if '--inside' in sys.argv:
        import transformers, torch
        import numpy as np
        confs, data, shapes = json.loads(sys.stdin.read()), {}, {}
        for kind, conf in confs.items():
            out, shapes[kind] = run(kind, conf); data |= out
        meta = dict(transformers=transformers.__version__, torch=torch.__version__, rows=ROWS, shapes=shapes, configs=confs)
        np.savez_compressed(OUT, meta=np.array(json.dumps(meta)), **data)
        return print(f'{OUT.relative_to(HOME)}: {OUT.stat().st_size//1024} KB')
    env = Path(os.environ.get('TURBOQUANT_REFERENCE_VENV', HOME/'.venv-reference'))
    if not (env/'bin/python').exists(): venv.create(env, with_pip=True)
    subprocess.check_call([env/'bin/python', '-m', 'pip', '-q', '--disable-pip-version-check', 'install', *PINS])
    subprocess.run([env/'bin/python', __file__, '--inside'], input=json.dumps(configs()).encode(), check=True)


if __name__ == '__main__': main()
