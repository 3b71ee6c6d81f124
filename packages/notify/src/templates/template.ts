import { Liquid, type Template as Parsed, Tag, type TagToken } from 'liquidjs'
import type { Channel } from '../model/channel.ts'
import type { Content, Data } from '../model/notification.ts'
import { listNames } from './names.ts'
import { type PlainTemplate, plainTemplate } from './plain-template.ts'

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

/** A template that can't be parsed or rendered, in words for its author. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
}

/** A template that has no text for a channel, or none in the locales that are wanted. */
export class MissingTextError extends TemplateError {}

/** Limits of one template and of one rendering. */
const templateLimits = {
  sourceBytes: 65_536,
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
  // with strict filters, a text of HTML that names it does not parse
  if (escapes) delete liquid.filters.raw
  liquid.registerFilter('names', function (list: unknown, max?: unknown) {
    const isOfAll = list === this.context.getSync(['actors'])
    return listNames(list, max, locale, isOfAll ? this.context.getSync(['actor_count']) : undefined)
  })
  return liquid
}

const engines = new Map<string, Liquid>()

function engineFor(escapes: boolean, locale: string): Liquid {
  const key = `${escapes} ${locale}`
  const known = engines.get(key) ?? engine(escapes, locale)
  engines.set(key, known)
  return known
}

/** Parses a text of a template. Throws {@link TemplateError} saying which part is wrong and how. */
export function compileTemplate(text: TemplateText): Compiled {
  const subject = parsePart('subject', text.subject, text.locale)
  const body = parsePart('body', text.body, text.locale)
  const html = parsePart('html', text.html, text.locale)
  const variables = [...new Set([subject, body, html].flatMap(variablesOf))]
  return {
    text,
    variables,
    render(data) {
      const written = html && renderPart(html, data)
      const content: Content = {
        ...(subject ? { subject: oneLine(renderPart(subject, data)) } : {}),
        body: withoutControls(body ? renderPart(body, data) : ''),
        ...(written === undefined ? {} : { html: safeLinks(written) }),
        locale: text.locale,
      }
      return { content, missing: variables.filter((path) => !has(data, path)) }
    },
  }
}

/** Parses a text that is to be kept. Throws {@link TemplateError} as above, and for an email without a subject. */
export function checkTemplate(text: TemplateText): Compiled {
  if (text.channel === 'email' && !text.subject?.trim()) throw new TemplateError('the subject of an email is missing')
  return compileTemplate(text)
}

/** A parsed part of a text: its subject, body or HTML. */
interface Part {
  readonly name: string
  readonly liquid: Liquid
  readonly parsed: Parsed[]
  readonly plain: PlainTemplate | undefined
}

function parsePart(name: string, source: string | undefined, locale: string): Part | undefined {
  if (source === undefined) return undefined
  const escapes = name === 'html'
  const liquid = engineFor(escapes, locale)
  if (Buffer.byteLength(source) > templateLimits.sourceBytes)
    throw new TemplateError(`the ${name} is longer than ${templateLimits.sourceBytes} bytes`)
  try {
    return { name, liquid, parsed: liquid.parse(source), plain: plainTemplate(source, escapes) }
  } catch (error) {
    throw new TemplateError(`the ${name} does not parse: ${firstLine(error)}`, { cause: error })
  }
}

function renderPart(part: Part, data: Data): string {
  let output: string
  try {
    output = part.plain?.(data) ?? renderWhole(part, data)
  } catch (error) {
    throw new TemplateError(`the ${part.name} does not render: ${firstLine(error)}`, { cause: error })
  }
  if (output.length > templateLimits.outputBytes)
    throw new TemplateError(`the ${part.name} renders to more than ${templateLimits.outputBytes} bytes`)
  return output
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

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n', 1)[0] ?? ''
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

const link = /\b(href|src|action|formaction)\s*=\s*("([^"]*)"|'([^']*)'|([^\s>]+))/gi

/** Links that lead anywhere but to http, https and mailto are emptied. */
function safeLinks(html: string): string {
  return html.replace(link, (whole, name: string, _value, double?: string, single?: string, bare?: string) => {
    const target = (double ?? single ?? bare ?? '').replace(/[\u0000-\u0020]+|&(tab|newline|nbsp);?/gi, '')
    return /^(https?:|mailto:|#|\/)/i.test(target) ? whole : `${name}="#"`
  })
}
