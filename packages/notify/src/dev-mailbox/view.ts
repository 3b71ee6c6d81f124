import type { PageParts, SiteLink, Texts } from '@gatehouse/kit/page'
import type { Channel } from '../model/channel.ts'
import type { NotificationRecord } from '../model/notification/notification.ts'
import type { MailboxEntry, MailboxStanding } from '../store/store.ts'
import type { Scheme } from './mail-frame.ts'

/** Which messages the page lists. */
export interface Filter {
  readonly channel?: Channel | undefined
  readonly user?: string | undefined
  readonly before?: string | undefined
}

/** How a mail is looked at. */
export interface Look {
  readonly scheme: Scheme
  readonly width: 'wide' | 'phone'
}

/** The message that the page shows whole. */
export interface Shown {
  readonly entry: MailboxEntry
  readonly standing: MailboxStanding | undefined
  /** The notification that the message belongs to, where it is kept. */
  readonly record: NotificationRecord | undefined
  /** The messages of the same notification on other channels. */
  readonly siblings: readonly MailboxEntry[]
  readonly look: Look
}

/** What the page shows. */
export interface MailboxView {
  readonly texts: Texts
  readonly entries: readonly MailboxEntry[]
  readonly standings: ReadonlyMap<string, MailboxStanding>
  readonly filter: Filter
  /** Whether there are older messages than those listed. */
  readonly hasMore: boolean
  readonly shown: Shown | undefined
  readonly links: readonly SiteLink[]
  readonly brand: PageParts['branding']['name']
}

/** The path of the mailbox. */
export const mailboxPath = '/dev/mailbox'

/** The address of a message, or of the list, with what it is filtered by. */
export function addressOf(id: string | undefined, query: Readonly<Record<string, string | undefined>> = {}): string {
  const set = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
  const search = new URLSearchParams(set).toString()
  return `${mailboxPath}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${search === '' ? '' : `?${search}`}`
}

/** The id of a message among the elements of the page. */
export function anchorOf(id: string): string {
  return `m-${encodeURIComponent(id)}`
}

/** The time of day, and the day where it is not today. */
export function formatTime(at: number, locale: string, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return new Date(at).toLocaleString(locale, {
    ...(isToday ? {} : { month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  })
}
