// The few parts of a browser's document that the console's drawings use: elements with attributes,
// children and text, and a canvas whose pixels a test chooses. Test time only.

export class FakeElement {
  className = '';
  readonly style: Record<string, string> = {};
  readonly attributes = new Map<string, string>();
  readonly children: (FakeElement | string)[] = [];
  width = 0;
  height = 0;

  constructor(readonly tag: string) {}

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }

  append(child: FakeElement | string): void {
    this.children.push(child);
  }

  /** A canvas: all pixels are red 255, green 128, blue 0. */
  getContext(): object {
    return {
      drawImage: () => undefined,
      getImageData: (_x: number, _y: number, width: number, height: number) => ({
        data: Uint8ClampedArray.from({ length: width * height * 4 }, (_, at) =>
          Number([255, 128, 0, 255][at % 4]),
        ),
      }),
    };
  }

  set textContent(text: string) {
    this.children.splice(0, this.children.length, text);
  }

  get text(): string {
    return this.children.map((one) => (typeof one === 'string' ? one : one.text)).join('');
  }

  /** All elements below this one with the tag, in order. */
  all(tag: string): FakeElement[] {
    return this.children.flatMap((one) =>
      typeof one === 'string' ? [] : [...(one.tag === tag ? [one] : []), ...one.all(tag)],
    );
  }
}

/** Replaces the global document until the process ends; each test file runs in its own. */
export function installFakeDocument(): void {
  const document = {
    createElement: (tag: string) => new FakeElement(tag),
    createElementNS: (_space: string, tag: string) => new FakeElement(tag),
  };
  Object.assign(globalThis, { document });
}

/** An element that the console made, as the fake that it is. */
export const fakeOf = (element: Element): FakeElement => element as unknown as FakeElement;
