/**
 * POST operations that may be sent again, when the answer to the first request was lost: they change nothing, or nothing
 * more the second time; or they do so with the member that is named here.
 */
const repeatable: Readonly<Record<string, true | 'dedup_key'>> = {
  'apiKeys.resolve': true,
  'apiKeys.search': true,
  'notifications.explain': true,
  'notifications.send': 'dedup_key',
  'receipts.record': true,
  'reservedMails.send': 'dedup_key',
  'recipients.search': true,
  'suppressions.search': true,
  'users.search': true,
  'templates.preview': true,
  'users.inbox.archive': true,
  'users.inbox.markRead': true,
  'users.inbox.markSeen': true,
  'users.inbox.markUnread': true,
  'users.inbox.unarchive': true,
}

/** Operations whose method says that they may be sent again, and which do more the second time. */
export const unrepeatableIds: readonly string[] = [
  // Each time it stores a new version.
  'templates.update',
]

/** Marks an operation that may be sent again, or may not although its method says so, for generated clients. */
export function markIdempotent(id: string | undefined): { readonly 'x-gatehouse-idempotent'?: boolean | 'dedup_key' } {
  if (id !== undefined && unrepeatableIds.includes(id)) return { 'x-gatehouse-idempotent': false }
  const mark = id === undefined ? undefined : repeatable[id]
  return mark === undefined ? {} : { 'x-gatehouse-idempotent': mark }
}

/** The ids of operations that may be sent again. */
export const repeatableIds: readonly string[] = Object.keys(repeatable)
