# SPDX-License-Identifier: Apache-2.0
"""Small programs of the kinds at keras.io, for scripts/bench_keras_programs.py. Each function of PROGRAMS returns a
model with its loss and a batch (model, loss, x, y), or a function that executes a training step and returns its loss.
Random numbers of layers are data, so that all backends compute the same losses."""

from keras_programs import generative, loops, series, text, vision

PROGRAMS = {
    "mnist": vision.mnist,
    "resnet": vision.resnet,
    "siamese": vision.siamese,
    "autoencoder": vision.autoencoder,
    "denoise": vision.denoise,
    "segmentation": vision.segmentation,
    "text_cnn": text.text_cnn,
    "bidirectional_lstm": text.bidirectional_lstm,
    "text_transformer": text.text_transformer,
    "mini_gpt": text.mini_gpt,
    "lstm_forecast": series.lstm_forecast,
    "series_convolution": series.series_convolution,
    "spectrogram": series.spectrogram,
    "wide_deep": series.wide_deep,
    "graph_network": series.graph_network,
    "dcgan": generative.dcgan,
    "wgan_gp": generative.wgan_gp,
    "vae": generative.vae,
    "diffusion": generative.diffusion,
    "actor_critic": loops.actor_critic,
    "dqn": loops.dqn,
    "custom_loop": loops.custom_loop,
}
