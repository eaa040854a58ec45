#!/usr/bin/env bash
# scikit-learn 1.9.1: `PCA` of float32 data far from zero gives wrong components as soon as there are ten times as many
# samples as features, without a warning.
#
# With `svd_solver="auto"`, at most 1,000 features and n_samples >= 10 n_features, the solver is 'covariance_eigh'. It
# subtracts the mean's product from X.T @ X after the product was rounded, so the variance drowns if the mean is much
# larger: its relative error is about 6e-8 (mean / deviation)^2. Negative variances become zeros, so the shares still add
# up to one. The other solvers subtract the mean first.
#
# Seen, 64 features: of means 100 deviations from zero the first share of variance is 0.6 % too small. Of means 1,000 away
# it is right with 639 samples (another solver), 1.6 times too large with 640 and 3.4 times with 5,000, whose first component
# is nearly orthogonal to the right one. One such feature among 64 is enough at 3,000 deviations. In float64, or with
# `svd_solver="full"`, all are right.
#
# Who meets it: whoever draws the principal components of features, time stamps or 16-bit levels in float32, the type in
# which models return tokens: one channel that is large and nearly constant decides. `x - x.mean(axis=0)` first is enough.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-learn==1.9.1 numpy==2.4.6
"$folder/venv/bin/python" -W error - <<'EOF'
import numpy as np
from sklearn.decomposition import PCA

rng = np.random.default_rng(0)
centred = rng.normal(size=(5000, 64)) @ (rng.normal(size=(64, 64)) * np.geomspace(1, 0.05, 64)).T
centred /= centred.std()
direction = rng.normal(size=64)


def measure(x, **settings):
    """Return the solver, the first share of float32 data relative to float64's, and the components' cosine."""
    exact = PCA(1, svd_solver="full").fit(x)
    coarse = PCA(1, **settings).fit(x.astype(np.float32))
    share = coarse.explained_variance_ratio_[0] / exact.explained_variance_ratio_[0]
    cosine = abs(float((coarse.components_ * exact.components_).sum()))
    print(f"{len(x)} samples, {coarse._fit_svd_solver}: share {share:.4f} of the right one, cosine {cosine:.4f}")
    return coarse._fit_svd_solver, share, cosine


near, far = centred + 100 * direction, centred + 1000 * direction
solver, share, cosine = measure(near)
assert solver == "covariance_eigh" and 0.98 < share < 0.995 and cosine > 0.999
solver, share, cosine = measure(far)
assert share > 2 and cosine < 0.5
assert PCA().fit(far.astype(np.float32)).explained_variance_ratio_.sum() > 0.999
solver, share, cosine = measure(far[:639])
assert solver != "covariance_eigh" and abs(share - 1) < 0.01 and cosine > 0.999
solver, share, cosine = measure(far[:640])
assert solver == "covariance_eigh" and share > 1.3
one = centred.copy()
one[:, 7] += 3000
assert measure(one)[2] < 0.5
assert measure(far, svd_solver="full")[2] > 0.999 and measure(far - far.mean(axis=0))[2] > 0.999
EOF
