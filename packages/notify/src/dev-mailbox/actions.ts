/** What a provider may be made to answer in the mailbox. */
export const mailboxActions = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'unregistered'] as const

/** What the mailbox reports on a message. */
export type MailboxAction = (typeof mailboxActions)[number]
