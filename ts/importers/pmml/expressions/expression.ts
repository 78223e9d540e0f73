// PMML's expression elements as a plan's expressions. Tables (NormContinuous, MapValues and so on)
// become separate stages. Importer's worker thread. Source: tabular.md 3.3
import { functionName } from '../../plan/attributes.js';
import { type Expression, call, columnRef, constant } from '../../plan/builder.js';
import type { Value } from '../../plan/generated/plan.js';
import { placeOf } from '../document.js';
import { type Fields, type Names, derivedInfo } from '../scope.js';
import { constantDataType, missingValue, normalDataType, parseValue, planType } from '../types.js';
import { type XmlElement, children } from '../xml/reader.js';
import { BUILT_INS, ORDERING, builtInName } from './functions.js';
import { REFUSED_EXPRESSIONS, TABLES, type TableContext } from './tables.js';

/** An expression, and what is known of its values before they are there. */
export interface Typed {
  readonly expression: Expression;
  readonly dataType: string;
  /** Values of an ordinal field, in order. */
  readonly order?: readonly string[];
  /**
   * The text of a Constant without a data type, which gets that of the value it is compared with.
   */
  readonly text?: string;
}

/** The names that a function of the document sees: its parameters, its own derived fields. */
interface Parameters {
  get(name: string): Typed | undefined;
}

/** An Apply's handling of missing and invalid values, as arguments of the engine's calls. */
interface Treated {
  /** mapMissingTo, if it is said. */
  readonly mapped: Expression | undefined;
  /** defaultValue, if it is said. */
  readonly otherwise: Expression | undefined;
  /** invalidValueTreatment: its place in TREATMENTS. */
  readonly how: Expression;
  readonly none: Expression;
  /** Invalid values refuse the row. */
  readonly plain: boolean;
}

/** Numbered as in native/tabular/pmml/functions/logic.cc. */
const TREATMENTS: readonly string[] = ['returnInvalid', 'asIs', 'asMissing'];

const NODES_MAX = 200_000;
// Each of them may become three calls; an expression of a plan has 200 at most.
const DEPTH_MAX = 60;
const NO_PARAMETERS: Parameters = new Map<string, Typed>();

/** A value cast to a data type; as it is where it has that type already. */
export function castTo(typed: Typed, dataType: string): Expression {
  if (typed.dataType === dataType) return typed.expression;
  return call('pmml.cast', typed.expression, constant(dataType));
}

export class Expressions {
  #nodes = 0;
  #depth = 0;
  readonly #calling: string[] = [];

  constructor(readonly fields: Fields) {}

  /** `wanted`: the data type that the expression's container has, where it has one. */
  typed(element: XmlElement, names: Names, wanted?: string): Typed {
    return this.#typed(element, names, NO_PARAMETERS, wanted);
  }

  /** Fills a column with an expression cast to a data type. A row that fails is refused where the
   * column is read. */
  fill(name: string, typed: Typed, dataType: string, at: XmlElement) {
    const type = planType(dataType) ?? 'double';
    return this.fields.plan.deriveLate(name, type, castTo(typed, dataType), placeOf(at));
  }

  #problem(at: XmlElement, reason: string): Typed {
    this.fields.problems.add(placeOf(at), reason);
    return { expression: constant(missingValue('double')), dataType: 'double' };
  }

  #value(at: XmlElement, text: string, dataType: string): Value {
    try {
      return parseValue(text, dataType);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#problem(at, error.message);
      return missingValue(dataType);
    }
  }

  #typed(element: XmlElement, names: Names, parameters: Parameters, wanted?: string): Typed {
    this.#nodes += 1;
    if (this.#nodes > NODES_MAX) return this.#problem(element, 'the expressions are too large');
    if (this.#depth > DEPTH_MAX) return this.#problem(element, 'expressions nest too deep');
    this.#depth += 1;
    try {
      return this.#any(element, names, parameters, wanted);
    } finally {
      this.#depth -= 1;
    }
  }

  #any(element: XmlElement, names: Names, parameters: Parameters, wanted?: string): Typed {
    if (element.name === 'Constant') return this.#constant(element);
    if (element.name === 'FieldRef') return this.#fieldRef(element, names, parameters);
    if (element.name === 'Apply') return this.#apply(element, names, parameters);
    if (element.name === 'X-Error') {
      const message = constant(element.attributes['message'] ?? '');
      return { expression: call('pmml.error', message), dataType: wanted ?? 'double' };
    }
    const table = Object.hasOwn(TABLES, element.name) ? TABLES[element.name] : undefined;
    if (table === undefined) {
      const why = REFUSED_EXPRESSIONS[element.name];
      const reason = `<${element.name}> is not supported as an expression`;
      return this.#problem(element, why === undefined ? reason : `${reason}: ${why}`);
    }
    const context: TableContext = {
      fields: this.fields,
      column: (name, at) => this.#columnOf(name, at, names, parameters),
      list: (name, at) => this.fields.list(names, name, at),
      dataType: (name) => parameters.get(name)?.dataType ?? this.fields.info(names, name).dataType,
      value: (at, text, dataType) => this.#value(at, text, dataType),
      term: (at) => this.#typed(at, names, parameters, 'string'),
      wanted,
    };
    const { column, dataType } = table(element, context);
    return { expression: columnRef(column), dataType };
  }

  #columnOf(name: string, at: XmlElement, names: Names, parameters: Parameters) {
    const parameter = parameters.get(name);
    if (parameter === undefined) return this.fields.column(names, name, at);
    if ('column' in parameter.expression) return parameter.expression.column;
    return this.fill(name, parameter, parameter.dataType, at);
  }

  #constant(element: XmlElement): Typed {
    const { dataType: said, missing } = element.attributes;
    const dataType = said === undefined ? constantDataType(element.text) : normalDataType(said);
    if (
      missing === 'true' ||
      missing === '1' ||
      (element.text === '' && said !== undefined && dataType !== 'string')
    ) {
      return { expression: constant(missingValue(dataType)), dataType };
    }
    const text = dataType === 'string' ? element.text : element.text.trim();
    const typed = { expression: constant(this.#value(element, text, dataType)), dataType };
    return said === undefined ? { ...typed, text } : typed;
  }

  #fieldRef(element: XmlElement, names: Names, parameters: Parameters): Typed {
    const name = element.attributes['field'];
    if (name === undefined) return this.#problem(element, 'has no field');
    const typed = parameters.get(name) ?? this.#field(name, element, names);
    const replacement = element.attributes['mapMissingTo'];
    if (replacement === undefined) return typed;
    const value = constant(this.#value(element, replacement, typed.dataType));
    return { ...typed, expression: call('pmml.default', typed.expression, value) };
  }

  #field(name: string, element: XmlElement, names: Names): Typed {
    const { dataType, optype, values } = this.fields.info(names, name);
    const order = optype === 'ordinal' && dataType === 'string' && values.length > 0;
    const expression = columnRef(this.fields.column(names, name, element));
    return order ? { expression, dataType, order: values } : { expression, dataType };
  }

  #apply(element: XmlElement, names: Names, parameters: Parameters): Typed {
    const said = element.attributes['function'];
    if (said === undefined) return this.#problem(element, 'has no function');
    const elements = element.children.filter((each) => each.name !== 'Extension');
    const name = builtInName(said);
    const typed = elements.map((each) => this.#typed(each, names, parameters));
    if (name === undefined) return this.#defined(element, said, typed, names);
    const { least, most, type } = BUILT_INS[name] as (typeof BUILT_INS)[string];
    if (typed.length < least || typed.length > most) {
      const expected = least === most ? `${least}` : `${least} to ${most}`;
      const reason = `function ${name} takes ${expected} arguments, got ${typed.length}`;
      return this.#problem(element, reason);
    }
    const args = this.#comparable(name, typed, element);
    const dataType = type(typed.map((each) => each.dataType));
    return this.#guarded(element, name, args, dataType);
  }

  // Constants without a data type take that of the value they are compared with.
  #comparable(name: string, typed: readonly Typed[], at: XmlElement): Expression[] {
    const first = typed.find((each) => each.text === undefined);
    const compares = ORDERING.has(name) || /^(equal|notEqual|isIn|isNotIn)$/.test(name);
    const plain = typed.map((each) => each.expression);
    if (!compares || first === undefined) return plain;
    const order = ORDERING.has(name)
      ? typed.find((each) => each.order !== undefined)?.order
      : undefined;
    if (order !== undefined) {
      const values = order.map((each) => constant(each));
      return plain.map((each) => call('pmml.ordinal', each, ...values));
    }
    const [left] = typed;
    if (ORDERING.has(name) && left?.text === undefined && left?.dataType === 'string') {
      this.#problem(at, `function ${name} cannot order strings, which are not ordinal`);
    }
    return typed.map((each) => {
      if (each.text === undefined || each.dataType === first.dataType) return each.expression;
      try {
        return constant(parseValue(each.text, first.dataType));
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return each.expression;
      }
    });
  }

  // An Apply's handling of missing and invalid values, in addition to its function.
  #treatment(element: XmlElement, dataType: string): Treated {
    const {
      mapMissingTo,
      defaultValue,
      invalidValueTreatment: said = 'returnInvalid',
    } = element.attributes;
    const how = TREATMENTS.indexOf(said);
    if (how < 0) this.#problem(element, `invalidValueTreatment="${said}" is not supported`);
    const value = (text: string | undefined) =>
      text === undefined ? undefined : constant(this.#value(element, text, dataType));
    const mapped = value(mapMissingTo);
    const otherwise = value(defaultValue);
    const none = constant(missingValue(dataType));
    const number = constant({ type: 'int32', integer: Math.max(how, 0) });
    return { mapped, otherwise, how: number, none, plain: how <= 0 };
  }

  #guarded(
    element: XmlElement,
    name: string,
    args: readonly Expression[],
    dataType: string,
  ): Typed {
    const { mapped, otherwise, how, none, plain } = this.#treatment(element, dataType);
    if (name === 'if') {
      const chosen =
        mapped === undefined ? call('pmml.if', ...args) : call('pmml.if_mapped', mapped, ...args);
      return { expression: call('pmml.treat', how, otherwise ?? none, chosen), dataType };
    }
    if (mapped === undefined && plain) {
      const made = call(functionName(`pmml.${name}`), ...args);
      const expression = otherwise === undefined ? made : call('pmml.default', made, otherwise);
      return { expression, dataType };
    }
    const expression = call(
      'pmml.apply',
      constant(`pmml.${name}`),
      constant(mapped !== undefined),
      mapped ?? none,
      how,
      otherwise ?? none,
      ...args,
    );
    return { expression, dataType };
  }

  #defined(element: XmlElement, name: string, args: readonly Typed[], names: Names): Typed {
    const definition = this.fields.document.functions.get(name);
    if (definition === undefined) {
      return this.#problem(element, `function ${name} is neither built in nor defined`);
    }
    if (this.#calling.includes(name)) {
      return this.#problem(element, `function ${name} calls itself`);
    }
    const declared = children(definition, 'ParameterField');
    if (declared.length !== args.length) {
      const reason = `function ${name} takes ${declared.length} arguments, got ${args.length}`;
      return this.#problem(element, reason);
    }
    const body = definition.children.find(
      (each) => !/^(ParameterField|DerivedField|Extension)$/.test(each.name),
    );
    if (body === undefined) return this.#problem(definition, 'has no expression');
    const parameters = new Map<string, Typed>();
    for (const [i, field] of declared.entries()) {
      const parameter = this.#argument(field, args[i] as Typed, element);
      parameters.set(field.attributes['name'] ?? '', parameter);
    }
    this.#calling.push(name);
    const said = definition.attributes['dataType'];
    const result = said === undefined ? undefined : normalDataType(said);
    const typed = this.#typed(body, names, this.#locals(definition, parameters, names), result);
    this.#calling.pop();
    const dataType = result ?? typed.dataType;
    const { mapped, otherwise, how, none } = this.#treatment(element, dataType);
    const given = [...parameters.values()].map((each) => each.expression);
    const answered = result === undefined ? typed.expression : castTo(typed, result);
    const expression = call(
      'pmml.defined',
      how,
      otherwise ?? none,
      mapped ?? none,
      answered,
      ...given,
    );
    return { expression, dataType };
  }

  // Parameters, and the derived fields that JPMML lets a function have: each is computed where it
  // is read first.
  #locals(
    definition: XmlElement,
    parameters: ReadonlyMap<string, Typed>,
    names: Names,
  ): Parameters {
    const fields = children(definition, 'DerivedField');
    if (fields.length === 0) return parameters;
    const known = new Map(parameters);
    const busy = new Set<string>();
    const locals: Parameters = {
      get: (name) => {
        const made = known.get(name);
        const field = fields.find((each) => each.attributes['name'] === name);
        if (made !== undefined || field === undefined) return made;
        if (busy.has(name)) return this.#problem(field, `derived field '${name}' refers to itself`);
        busy.add(name);
        const typed = this.#local(field, names, locals);
        known.set(name, typed);
        return typed;
      },
    };
    return locals;
  }

  #local(field: XmlElement, names: Names, locals: Parameters): Typed {
    const inner = field.children.find((each) => !/^(Extension|Value|Interval)$/.test(each.name));
    if (inner === undefined) return this.#problem(field, 'has no expression');
    const { dataType } = derivedInfo(field);
    const typed = this.#typed(inner, names, locals, dataType);
    const column = this.fill(field.attributes['name'] ?? '', typed, dataType, field);
    return { expression: columnRef(column), dataType };
  }

  // The value of a parameter: each is computed once, whether the function reads it or not.
  #argument(field: XmlElement, argument: Typed, at: XmlElement): Typed {
    const said = field.attributes['dataType'];
    const dataType = said === undefined ? argument.dataType : normalDataType(said);
    const expression = castTo(argument, dataType);
    if (!('call' in expression)) return { expression, dataType };
    const name = field.attributes['name'] ?? '';
    const column = this.fill(name, { expression, dataType }, dataType, at);
    return { expression: columnRef(column), dataType };
  }
}
