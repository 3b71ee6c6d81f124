import { type FilterImplOptions, Liquid, type Template as Parsed, Tag, type TagToken } from 'liquidjs'
import type { Channel } from '../model/channel.ts'
import type { Content, Data } from '../model/notification/notification.ts'
import { storable } from '../model/storable.ts'
import { listNames } from './names.ts'
import { type PlainTemplate, plainTemplate } from './plain-template.ts'
import { safeLinks } from './safe-links.ts'

/** One published text: what a channel says in a locale. `html` is for email, beside its text. */
export interface TemplateText {
  readonly templateId: string
  readonly channel: Channel
  readonly locale: string
  readonly version: number
  readonly subject?: string
  readonly body: string
  readonly html?: string
}

/** A fault of a text, and where it is. */
export interface TemplateFault {
  readonly part: 'subject' | 'body' | 'html'
  /** Of the part, from 1; left out where the fault is that of the whole part. */
  readonly line?: number
  /** Of the line, from 1. */
  readonly column?: number
  readonly message: string
}

/** A template that can't be parsed or rendered, in words for its author. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  /** The first fault of each part; none where a text is missing. */
  readonly faults: readonly TemplateFault[]

  constructor(message: string, { faults = [], cause }: { faults?: readonly TemplateFault[]; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.faults = faults
  }
}

/** A template that has no text for a channel, or none in the locales that are wanted. */
export class MissingTextError extends TemplateError {}

/** Limits of one template and of one rendering. */
const templateLimits = {
  sourceBytes: 65_536,
  /** Which variables they name is found out in time that grows with the square of their number. */
  tags: 1_000,
  outputBytes: 262_144,
  renderMs: 100,
  memory: 1_000_000,
} as const

/** A parsed text, ready to be rendered many times. */
export interface Compiled {
  readonly text: TemplateText
  /** The variables it names at its top level, as `user.name`. */
  readonly variables: readonly string[]
  render(data: Data): { readonly content: Content; readonly missing: readonly string[] }
}

class Refused extends Tag {
  constructor(token: TagToken, remaining: never, liquid: Liquid) {
    super(token, remaining, liquid)
    throw new Error(`the tag ${token.name} is not available`)
  }

  override *render(): Generator<unknown, void, unknown> {}
}

function engine(escapes: boolean, locale: string): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    parseLimit: templateLimits.sourceBytes,
    renderLimit: templateLimits.renderMs,
    memoryLimit: templateLimits.memory,
    templates: {},
    ...(escapes ? { outputEscape: 'escape' as const } : {}),
  })
  for (const tag of ['include', 'render', 'layout', 'block']) liquid.registerTag(tag, Refused as never)
  for (const name of propertyFilters) liquid.filters[name] = byOneProperty(name, liquid.filters[name])
  // with strict filters, a text of HTML that names it does not parse
  if (escapes) delete liquid.filters.raw
  liquid.registerFilter('names', function (list: unknown, max?: unknown) {
    const isOfAll = list === this.context.getSync(['actors'])
    return listNames(list, max, locale, isOfAll ? this.context.getSync(['actor_count']) : undefined)
  })
  return liquid
}

/** They write out the name of a property for each item of a list, and look at no limit in between. */
const propertyFilters = [
  'find',
  'find_index',
  'group_by',
  'has',
  'map',
  'reject',
  'sort',
  'sort_natural',
  'sum',
  'where',
]

/** A filter by the name of a property, which is no list and no object that would have to be written out each time. */
function byOneProperty(name: string, filter: FilterImplOptions | undefined): FilterImplOptions {
  const handler = typeof filter === 'function' ? filter : filter?.handler
  if (handler === undefined) throw new RangeError(`there is no filter ${name}`)
  return function (list: unknown, property?: unknown, ...rest: unknown[]) {
    if (typeof property === 'object' && property !== null) throw new Error(`the property of ${name} must be a name`)
    return handler.call(this, list, property, ...rest)
  }
}

const engines = new Map<string, Liquid>()
/** Whoever previews a draft names its locale, and there is no end of them. A text keeps the engine that parsed it. */
const maxEngines = 200

function engineFor(escapes: boolean, locale: string): Liquid {
  const key = `${escapes} ${locale}`
  const known = engines.get(key)
  if (known !== undefined) return known
  if (engines.size >= maxEngines) engines.clear()
  const created = engine(escapes, locale)
  engines.set(key, created)
  return created
}

/** Parses a text of a template. Throws {@link TemplateError} saying which parts are wrong and how. */
export function compileTemplate(text: TemplateText): Compiled {
  const [subject, body, html] = everyPart((name) => parsePart(name, text[name], text.locale))
  const variables = [...new Set([subject, body, html].flatMap(variablesOf))]
  return {
    text,
    variables,
    render(data) {
      const parts = { subject, body, html }
      const [title, words = '', written] = everyPart((name) => {
        const part = parts[name]
        return part && renderPart(part, data)
      })
      const content: Content = {
        ...(title === undefined ? {} : { subject: oneLine(title) }),
        body: withoutControls(words),
        ...(written === undefined ? {} : { html: safeLinks(written) }),
        locale: text.locale,
      }
      return { content, missing: variables.filter((path) => !has(data, path)) }
    },
  }
}

/** Parses a text that is to be kept. Throws {@link TemplateError} as above, and for an email without a subject. */
export function checkTemplate(text: TemplateText): Compiled {
  if (text.channel === 'email' && !text.subject?.trim()) {
    const message = 'the subject of an email is missing'
    throw new TemplateError(message, { faults: [{ part: 'subject', message }] })
  }
  return compileTemplate(text)
}

type PartName = TemplateFault['part']

/** Does something with every part of a text, so that the faults of all of them are known. @throws TemplateError */
function everyPart<Result>(work: (name: PartName) => Result): [subject: Result, body: Result, html: Result] {
  const errors: TemplateError[] = []
  const done = (['subject', 'body', 'html'] as const).map((name) => {
    try {
      return work(name)
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      errors.push(error)
      return undefined
    }
  })
  const [first, ...more] = errors
  if (first === undefined) return done as [Result, Result, Result]
  if (more.length === 0) throw first
  const faults = errors.flatMap((error) => error.faults)
  throw new TemplateError(errors.map(({ message }) => message).join('; '), { faults, cause: first })
}

/** A parsed part of a text: its subject, body or HTML. */
interface Part {
  readonly name: PartName
  readonly liquid: Liquid
  readonly parsed: Parsed[]
  readonly plain: PlainTemplate | undefined
}

function parsePart(name: PartName, source: string | undefined, locale: string): Part | undefined {
  if (source === undefined) return undefined
  const escapes = name === 'html'
  const liquid = engineFor(escapes, locale)
  if (Buffer.byteLength(source) > templateLimits.sourceBytes)
    throw faultOf(name, `is longer than ${templateLimits.sourceBytes} bytes`)
  if (source.split(/\{[{%]/, templateLimits.tags + 2).length > templateLimits.tags + 1)
    throw faultOf(name, `has more than ${templateLimits.tags} tags and outputs`)
  try {
    return { name, liquid, parsed: liquid.parse(source), plain: plainTemplate(source, escapes) }
  } catch (error) {
    throw faultOf(name, 'does not parse: ', error)
  }
}

function renderPart(part: Part, data: Data): string {
  let output: string
  try {
    output = part.plain?.(data) ?? renderWhole(part, data)
  } catch (error) {
    throw faultOf(part.name, 'does not render: ', error)
  }
  if (output.length > templateLimits.outputBytes)
    throw faultOf(part.name, `renders to more than ${templateLimits.outputBytes} bytes`)
  // A filter may cut a character in half, as `first` does with an emoji, and no database would store that.
  return storable(output)
}

/** Renders with the engine, whose limit is by the clock on the wall: one that got no processor meanwhile is tried again. */
function renderWhole({ liquid, parsed }: Part, data: Data): string {
  for (let stalls = 0; ; stalls++) {
    const before = process.threadCpuUsage()
    try {
      return String(liquid.renderSync(parsed, data))
    } catch (error) {
      const { user, system } = process.threadCpuUsage(before)
      const worked = (user + system) / 1_000 > templateLimits.renderMs / 2
      if (worked || stalls >= maxStalls || !/render limit exceeded/.test((error as Error).message)) throw error
    }
  }
}

const maxStalls = 5

function variablesOf(part: Part | undefined): string[] {
  if (!part) return []
  const segments = part.liquid.globalVariableSegmentsSync(part.parsed)
  return segments.map((path) => path.filter((segment) => typeof segment === 'string').join('.'))
}

function has(data: Data, path: string): boolean {
  let value: unknown = data
  for (const member of path.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, member)) return false
    value = (value as Record<string, unknown>)[member]
  }
  return value !== undefined && value !== null
}

/** The error of a part, with the place that the engine names. */
function faultOf(part: PartName, what: string, cause?: unknown): TemplateError {
  if (cause === undefined) return new TemplateError(`the ${part} ${what}`, { faults: [{ part, message: what }] })
  const said = (cause as Error).message.split('\n', 1)[0] ?? ''
  const { token } = cause as { readonly token?: { getPosition?(): readonly number[] } }
  const [line, column] = token?.getPosition?.() ?? []
  const fault: TemplateFault = {
    part,
    ...(line === undefined || column === undefined ? {} : { line, column }),
    message: said.replace(/, line:\d+, col:\d+$/, ''),
  }
  return new TemplateError(`the ${part} ${what}${said}`, { faults: [fault], cause })
}

const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text without control characters and without marks that turn its direction. */
function withoutControls(text: string): string {
  return text.replace(controls, '')
}

/** A header's worth of text: nothing in it ends the line. */
function oneLine(text: string): string {
  return withoutControls(text.replace(/[\r\n\u0085\u2028\u2029]+/g, ' ')).trim()
}
