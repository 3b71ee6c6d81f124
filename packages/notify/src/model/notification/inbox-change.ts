/** What can be done to inbox items. */
export const inboxChanges = ['seen', 'read', 'unread', 'archived', 'unarchived'] as const

/** What can be done to items of an inbox. Read and archived ones count as seen. */
export type InboxChange = (typeof inboxChanges)[number]
