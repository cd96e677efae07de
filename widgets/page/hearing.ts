// Messages of the kernel to a view, also on a page that was slow to load the view's module.

type Handler = (message: unknown) => Promise<void>;

/** The part of a model that says where the whole one is: a view's, or one of anywidget's types. */
interface Managed {
  widget_manager?: { get_model(id: string): Promise<unknown> };
}

/** The part of a whole widget model that is used here. */
interface WholeModel {
  comm?: { on_msg(handler: Handler): void };
}

/**
 * Let the class of Jupyter's widgets handle the messages to a model, and return whether it does.
 *
 * anywidget gives the page two seconds to load a module. If the page needs longer, which it does on a busy machine,
 * anywidget's own handler refuses every later message to the model: the view is there, but stays empty. Its handler adds
 * only this wait, and a module that calls this function is loaded.
 */
export async function hearAlways({ widget_manager: manager }: Managed, id: string | undefined): Promise<boolean> {
  if (!manager || !id) return false; // an exported page, and one that replays a recording
  const whole = (await manager.get_model(id)) as WholeModel;
  const handler = baseHandler(whole);
  if (handler) whole.comm?.on_msg((message) => handler.call(whole, message));
  return Boolean(handler && whole.comm);
}

/** Return the method of the class that anywidget's is derived from. */
function baseHandler(whole: object): Handler | undefined {
  let found: Handler | undefined;
  for (let type = Object.getPrototypeOf(whole); type; type = Object.getPrototypeOf(type)) {
    found = Object.getOwnPropertyDescriptor(type, "_handle_comm_msg")?.value ?? found;
  }
  return found;
}
