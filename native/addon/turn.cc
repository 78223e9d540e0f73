// Runs a callback at the end of each event-loop iteration. No package that the build uses has
// libuv's header, so the few calls are declared here. They are part of libuv 1.x's stable ABI,
// which Node exports. Source: docs.libuv.org.
#include "addon/turn.h"

#include <cstddef>
#include <memory>

extern "C" {
struct uv_loop_s;
enum ServalUvHandleType { kUvCheck = 2, kUvPrepare = 9 };  // UV_HANDLE_TYPE_MAP
size_t uv_handle_size(int type);
int uv_check_init(uv_loop_s* loop, void* check);
int uv_check_start(void* check, void (*callback)(void* check));
int uv_prepare_init(uv_loop_s* loop, void* prepare);
int uv_prepare_start(void* prepare, void (*callback)(void* prepare));
void uv_unref(void* handle);
void uv_close(void* handle, void (*callback)(void* handle));
void* uv_handle_get_data(const void* handle);
void uv_handle_set_data(void* handle, void* data);
}

namespace serval {

struct Turn::Handles {
  std::unique_ptr<std::byte[]> check, prepare;
  Callback at_end = nullptr;
  void* context = nullptr;
  napi_async_cleanup_hook_handle hook = nullptr;
  int open = 0;
  bool closing = false;
  Turn* owner = nullptr;  // until stop()
};

namespace {

void on_end(void* handle) {
  auto* handles = static_cast<Turn::Handles*>(uv_handle_get_data(handle));
  if (!handles->closing) handles->at_end(handles->context);
}

void on_closed(void* handle) {
  auto* handles = static_cast<Turn::Handles*>(uv_handle_get_data(handle));
  if (--handles->open > 0) return;
  if (handles->owner != nullptr) handles->owner->forget();
  napi_remove_async_cleanup_hook(handles->hook);
  delete handles;
}

void close(Turn::Handles* handles) {
  if (handles->closing) return;
  handles->closing = true;
  uv_close(handles->check.get(), on_closed);
  uv_close(handles->prepare.get(), on_closed);
}

}  // namespace

bool Turn::start(napi_env env, Callback at_end, void* context) {
  uv_loop_s* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) return false;
  auto handles = std::make_unique<Handles>();
  handles->check = std::make_unique<std::byte[]>(uv_handle_size(kUvCheck));
  handles->prepare = std::make_unique<std::byte[]>(uv_handle_size(kUvPrepare));
  handles->at_end = at_end;
  handles->context = context;
  // If the environment ends without stop(), this hook closes the handles before the loop ends.
  const napi_async_cleanup_hook hook = [](napi_async_cleanup_hook_handle, void* data) {
    close(static_cast<Handles*>(data));
  };
  if (napi_add_async_cleanup_hook(env, hook, handles.get(), &handles->hook) != napi_ok) {
    return false;
  }
  handles->owner = this;
  handles_ = handles.release();
  void* check = handles_->check.get();
  void* prepare = handles_->prepare.get();
  uv_check_init(loop, check);
  uv_prepare_init(loop, prepare);
  handles_->open = 2;
  for (void* handle : {check, prepare}) {
    uv_handle_set_data(handle, handles_);
    uv_unref(handle);
  }
  uv_check_start(check, on_end);
  uv_prepare_start(prepare, on_end);
  return true;
}

void Turn::stop() {
  if (handles_ == nullptr) return;
  handles_->owner = nullptr;
  close(handles_);
  handles_ = nullptr;
}

}  // namespace serval
