// A bundle's files: which there are, and in which form. Importer's worker thread.
// Source: tabular.md 4.1
import { MLEAP_FILE } from '../../../base/file-names.js';
import { modelInvalid } from '../../../base/errors.js';
import type { ModelFiles } from '../../plan/archive/index.js';
import { infoOfJson, modelOfJson, nodeOfJson } from './json.js';
import { modelOfProto, nodeOfProto } from './proto.js';
import { Attributes, type BundleInfo, type BundleModel, type BundleNode } from './values.js';

/** A model, with the folder that its other files lie in. */
export interface FoundModel {
  readonly op: string;
  readonly model: BundleModel;
  readonly attributes: Attributes;
  readonly folder: string;
}

export class Bundle {
  readonly info: BundleInfo;
  readonly #files: ModelFiles;
  readonly #names: ReadonlySet<string>;

  private constructor(files: ModelFiles, info: BundleInfo) {
    this.#files = files;
    this.#names = new Set(files.names);
    this.info = info;
  }

  /** Errors: ModelInvalid: no bundle. */
  static async open(files: ModelFiles): Promise<Bundle> {
    if (!files.names.includes(MLEAP_FILE)) {
      throw modelInvalid(`expected ${MLEAP_FILE}, as in every MLeap bundle, got none`);
    }
    return new Bundle(files, infoOfJson(await files.read(MLEAP_FILE), MLEAP_FILE));
  }

  /** 'json' or 'pb', as the files of models and trees end. */
  get extension(): 'json' | 'pb' {
    return this.info.format === 'json' ? 'json' : 'pb';
  }

  has(file: string): boolean {
    return this.#names.has(file);
  }

  /** Errors: ModelInvalid naming the file. */
  async read(file: string): Promise<Uint8Array> {
    if (!this.has(file)) throw modelInvalid(`${file}: file not found`);
    return this.#files.read(file);
  }

  async node(folder: string): Promise<BundleNode> {
    const file = `${folder}/node.${this.extension}`;
    const bytes = await this.read(file);
    return this.info.format === 'json' ? nodeOfJson(bytes, file) : nodeOfProto(bytes, file);
  }

  async model(folder: string): Promise<FoundModel> {
    const file = `${folder}/model.${this.extension}`;
    const bytes = await this.read(file);
    const model =
      this.info.format === 'json' ? modelOfJson(bytes, file) : modelOfProto(bytes, file);
    return { op: model.op, model, attributes: new Attributes(model, file), folder };
  }
}
