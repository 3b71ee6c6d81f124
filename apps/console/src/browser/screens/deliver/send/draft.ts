import type { InputOf } from '../../../../actions/index.ts'
import type { ChannelName } from '../channel-choice.tsx'
import { parseObject } from '../event-data.ts'
import type { SnippetCall } from './snippets.ts'

/** How a notification is sent. */
export type SendMode = 'now' | 'later' | 'bulk'

/** What is being written on the form. */
export interface SendDraft {
  /** Dedup keys are made of it. Once the form was sent it has another. */
  readonly id: string
  readonly mode: SendMode
  readonly event: string
  readonly user: string
  /** JSON. */
  readonly data: string
  /** Whether the person wrote the data: then no sample takes its place. */
  readonly isWritten: boolean
  readonly channels: readonly ChannelName[]
  readonly dedupKey: string
  /** A local time, as its field has it. */
  readonly at: string
  /** Many events as JSON. */
  readonly events: string
}

/** The form as it opens. */
export const emptyDraft: SendDraft = {
  id: '',
  mode: 'now',
  event: '',
  user: '',
  data: '{}',
  isWritten: false,
  channels: [],
  dedupKey: '',
  at: '',
  events: '',
}

/** Whether the data is written, and is no JSON object. */
export function isDataBad({ data }: SendDraft): boolean {
  return data.trim() !== '' && parseObject(data) === undefined
}

/** Whether the time of a draft has passed: it would be sent at once. */
export function isPast({ mode, at }: SendDraft, now: number): boolean {
  return mode === 'later' && at !== '' && new Date(at).getTime() <= now
}

/** The notify request of a draft; undefined while it is not complete. */
export function requestOfDraft({ event, user, data, channels, dedupKey }: SendDraft): InputOf<'send'> | undefined {
  const parsed = parseObject(data.trim() || '{}')
  if (event.trim() === '' || user.trim() === '' || parsed === undefined) return undefined
  return {
    event: event.trim(),
    user_id: user.trim(),
    data: parsed,
    ...(channels.length === 0 ? {} : { channels }),
    ...(dedupKey.trim() === '' ? {} : { dedup_key: dedupKey.trim() }),
  }
}

/** The call of a draft as code shows it; undefined while it is not complete. */
export function callOfDraft(draft: SendDraft): SnippetCall | undefined {
  const request = requestOfDraft(draft)
  if (request === undefined) return undefined
  if (draft.mode !== 'later') return { method: 'POST', path: '/v1/notify', body: request, client: 'notify' }
  const at = new Date(draft.at)
  if (Number.isNaN(at.getTime())) return undefined
  const body = { fire_at: at.toISOString(), payload: request }
  return { method: 'POST', path: '/v1/scheduled', body, client: 'scheduled.create' }
}
