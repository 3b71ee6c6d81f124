import type { MailContext } from '../context/context.ts'
import type { OutboxMessage } from '../store/index.ts'
import { createMessage, noticeSeconds, openPayload } from './messages.ts'
import { createNotices } from './notices.ts'

/** The members after a user's id are still to be notified. */
interface MembersPayload {
  readonly after: string
}

const membersAtOnce = 50

type MembersContext = Pick<MailContext, 'issuer' | 'branding' | 'clock' | 'encryptionKey' | 'mail' | 'store'>

/**
 * Creates the message that notifies every member that the organization requires a second factor; none without mail. It
 * becomes one notice for each member when it is delivered, so that the change itself stays small.
 */
export function createMembersMessage(
  context: Pick<MembersContext, 'clock' | 'encryptionKey' | 'mail'>,
  organizationId: string,
  after: string = '',
): readonly OutboxMessage[] {
  if (!context.mail) return []
  const payload: MembersPayload = { after }
  const ttlMs = noticeSeconds * 1000
  return [createMessage(context, { kind: 'members', subject: organizationId, payload, ttlMs })]
}

/**
 * Creates the notices of the next members, and the message for those after them. They take the place of `message`. None
 * where the organization does not require a second factor any more.
 */
export async function createMemberNotices(
  context: MembersContext,
  message: OutboxMessage,
): Promise<readonly OutboxMessage[]> {
  const { store, encryptionKey } = context
  const { after } = openPayload<MembersPayload>(message, encryptionKey)
  const organization = await store.organizations.find(message.subject)
  if (organization === undefined || !organization.requireMfa) return []
  const members = await store.memberships.listMembers(organization.id, after, membersAtOnce)
  const facts = { organization: organization.name }
  const kind = 'organization_requires_mfa'
  const notices: OutboxMessage[] = []
  for (const { userId } of members) {
    const user = await store.users.find(userId)
    if (user !== undefined) notices.push(...createNotices(context, { user, kind, request: undefined, facts }))
  }
  const last = members.length < membersAtOnce ? undefined : members.at(-1)
  return last === undefined ? notices : [...notices, ...createMembersMessage(context, organization.id, last.userId)]
}
