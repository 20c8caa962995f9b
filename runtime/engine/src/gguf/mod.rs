//! Reads GGUF files, the model files of the llama.cpp family, by memory map.
