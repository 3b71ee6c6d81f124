import type { Clock } from '@gatehouse/kit'
import { Type } from 'typebox'
import { type CatalogKeeper, unfilledText } from '../catalog/catalog.ts'
import type { ReceiptTokens } from '../links/receipt-token.ts'
import { hidden } from '../model/masking.ts'
import type { InboxCounts, InboxItem } from '../store/store.ts'

const Time = Type.String({ format: 'date-time' })

/** An inbox item as the API writes it. */
export const ItemRecord = Type.Object(
  {
    id: Type.String(),
    event: Type.String(),
    subject: Type.Optional(Type.String()),
    body: Type.String(),
    created_at: Time,
    seen_at: Type.Optional(Time),
    read_at: Type.Optional(Time),
    archived_at: Type.Optional(Time),
    receipt_token: Type.Optional(
      Type.String({
        description: 'Reports what became of the item at POST /v1/receipts; for readers who see its text',
      }),
    ),
  },
  { title: 'InboxItem' },
)

/** The counts of an inbox as the API writes them. */
export const CountsRecord = Type.Object(
  {
    sequence: Type.Integer({ description: 'Grows with every change; what Last-Event-ID and up_to name' }),
    total: Type.Integer({ description: 'Items that are not archived' }),
    unseen: Type.Integer(),
    unread: Type.Integer(),
  },
  { title: 'InboxCounts' },
)

/** An item as the API writes it. */
export function itemRecord({ id, event, subject, body, receiptToken, ...at }: ShownItem): Record<string, string> {
  const times = { created_at: at.createdAt, seen_at: at.seenAt, read_at: at.readAt, archived_at: at.archivedAt }
  const written = Object.entries(times).flatMap(([name, time]) =>
    time === undefined ? [] : [[name, new Date(time).toISOString()]],
  )
  return {
    id,
    event,
    ...(subject === undefined ? {} : { subject }),
    body,
    ...Object.fromEntries(written),
    ...(receiptToken === undefined ? {} : { receipt_token: receiptToken }),
  }
}

/** Counts as the API writes them. */
export function countsRecord({ sequence, total, unseen, unread }: InboxCounts): Record<string, number> {
  return { sequence, total, unseen, unread }
}

/** An item as a reader is shown it. */
export interface ShownItem extends InboxItem {
  readonly receiptToken?: string
}

/** How the items of a feed are shown to a reader. */
export type ShowItems = <Item extends InboxItem>(items: readonly Item[]) => Promise<Item[]> | readonly Item[]

/** How they are shown to whoever may read them. */
export type ShowAllItems = <Item extends InboxItem>(items: readonly Item[]) => ReadonlyArray<Item & ShownItem>

/** To whoever may read them: with the tokens that report what becomes of them, where tokens can be made. */
export function createFullView(tokens: ReceiptTokens | undefined, clock: Clock): ShowAllItems {
  return (items) => {
    if (!tokens) return items
    const now = clock.now()
    return items.map((item) => ({ ...item, receiptToken: tokens.issue(item.id, now) }))
  }
}

/** To callers who may not read personal data: with the text as its template has it, the variables unfilled. */
export function createMaskedView(keeper: CatalogKeeper, locale: string): ShowItems {
  return async (items) => {
    const catalog = await keeper.current()
    return items.map(({ subject: _subject, ...item }) => {
      const templateId = catalog.eventTypes.get(item.event)?.templateId
      const text = templateId === undefined ? { body: hidden } : unfilledText(catalog, templateId, 'in-app', locale)
      return { ...item, ...text } as typeof item & (typeof items)[number]
    })
  }
}
