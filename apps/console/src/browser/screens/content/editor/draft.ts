import type { InputOf } from '../../../../actions/index.ts'
import type { Channel } from '../matrix.ts'

/** A part of a text. */
export type PartName = 'subject' | 'body' | 'html'

/** What is written in the editor; a part that a text lacks is empty. */
export type Draft = Readonly<Record<PartName, string>>

/** The words of a text, as the API has them. */
export interface Words {
  readonly subject?: string
  readonly body?: string
  readonly html?: string
}

/** Where a text is. */
export interface Place {
  readonly template_id: string
  readonly channel: Channel
  readonly locale: string
}

/** The parts that a text of a channel has. */
export const partsOf: Readonly<Record<Channel, readonly PartName[]>> = {
  push: ['subject', 'body'],
  email: ['subject', 'html', 'body'],
  sms: ['body'],
  'in-app': ['subject', 'body'],
}

/** The draft of a text; empty for one that is not there yet. */
export function draftOf({ subject = '', body = '', html = '' }: Words = {}): Draft {
  return { subject, body, html }
}

/** The words of a draft, as the API takes them: parts that are empty are left out, but for the body. */
export function wordsOf(draft: Draft, channel: Channel): { subject?: string; body: string; html?: string } {
  const has = (part: PartName) => partsOf[channel].includes(part) && draft[part] !== ''
  return {
    ...(has('subject') ? { subject: draft.subject } : {}),
    body: draft.body,
    ...(has('html') ? { html: draft.html } : {}),
  }
}

/** Whether two drafts say the same. */
export function isSame(one: Draft, other: Draft): boolean {
  return one.subject === other.subject && one.body === other.body && one.html === other.html
}

/** A draft as one text, whose lines are compared. */
export function textOf(draft: Draft, channel: Channel): string {
  const parts = partsOf[channel].filter((part) => draft[part] !== '')
  if (parts.length === 1 && parts[0] === 'body') return draft.body
  return parts.map((part) => `[${part}]\n${draft[part]}`).join('\n\n')
}

/** The data in the editor, undefined where it is no JSON object. */
export function parseData(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

/** Data with a value for each of the variables that it lacks: the last name of its path. */
export function fillData(
  data: Readonly<Record<string, unknown>>,
  variables: readonly string[],
): Readonly<Record<string, unknown>> {
  const filled = structuredClone(data) as Record<string, unknown>
  for (const path of variables) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at: Record<string, unknown> | undefined = filled
    for (const name of names) at = stepInto(at, name)
    if (at !== undefined && at[last] === undefined) at[last] = last
  }
  return filled
}

function stepInto(at: Record<string, unknown> | undefined, name: string): Record<string, unknown> | undefined {
  if (at === undefined || name === '__proto__') return undefined
  if (at[name] === undefined) at[name] = {}
  const next = at[name]
  return typeof next === 'object' && next !== null && !Array.isArray(next)
    ? (next as Record<string, unknown>)
    : undefined
}

/** What previews take: a draft in its place, with data, in at most eight locales. */
export function previewInput(
  place: Place,
  draft: Draft,
  data: Readonly<Record<string, unknown>>,
  locales: readonly string[],
): InputOf<'previewTemplate'> {
  const { template_id, channel, locale } = place
  const shown = [locale, ...locales.filter((each) => each !== locale)].slice(0, 8)
  return { template_id, data, locales: shown, draft: { channel, locale, ...wordsOf(draft, channel) } }
}
