import { isIP } from 'node:net'
import {
  isEmailAddress,
  maskEmail,
  maskIpAddress,
  maskMembers,
  maskName,
  maskPhoneNumber,
  Problem,
} from '@gatehouse/kit'
import { deviceName } from '../pages/device-name.ts'
import type { AuditEvent } from '../store/index.ts'
import type { Authority } from './authority.ts'
import type { InvitationResponse } from './organizations/invitations.ts'
import type { OrganizationMemberResponse } from './organizations/members.ts'
import type { MemberResponse } from './roles/roles.ts'
import type { SessionResponse } from './sessions/sessions.ts'
import type { GrantResponse } from './users/access.ts'
import type { LinkedProviderResponse } from './users/linked-providers.ts'
import type { PasskeyResponse } from './users/passkeys.ts'
import type { UserResponse } from './users/users.ts'

/*
 * Masks personal data for callers who may not read it. Identifiers (the subject, a client id) are shown: they name a
 * record, and products choose them.
 */

const hidden = '•••'

const personalDataScope = 'read:personal-data'

/** Whether the caller may read personal data as it is. */
export function readsPersonalData({ unrestricted, scopes }: Authority): boolean {
  return unrestricted || scopes.has(personalDataScope)
}

/** The value as it is for callers who may read personal data, masked for all others. */
export function maskUnlessPermitted<Answer>(by: Authority, answer: Answer, mask: (answer: Answer) => Answer): Answer {
  return readsPersonalData(by) ? answer : mask(answer)
}

/**
 * Refuses to find by what is masked for the caller: an address of a known network is found with 256 guesses, the
 * beginning of a name letter by letter. `parameter` is undefined where it was not used.
 * @throws Problem 403
 */
export function refuseGuesses(by: Authority, name: string, parameter: string | undefined): void {
  if (parameter === undefined || readsPersonalData(by)) return
  throw new Problem(403, `To find by ${name}, which is masked for you, the scope ${personalDataScope} is needed.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${personalDataScope}"` },
  })
}

/** Masks username, email and claims. */
export function maskUser(user: UserResponse): UserResponse {
  return {
    ...user,
    ...(user.username === undefined ? {} : { username: maskText(user.username) }),
    ...(user.email === undefined ? {} : { email: maskEmail(user.email) }),
    claims: maskClaims({ ...user.claims }),
  }
}

/** Masks the username of a role's member. */
export function maskMember(member: MemberResponse): MemberResponse {
  return { ...member, username: maskText(member.username) }
}

/** Masks the username and the address of a member of an organization. */
export function maskOrganizationMember(member: OrganizationMemberResponse): OrganizationMemberResponse {
  const { username, email } = member
  return { ...member, username: maskText(username), ...(email === undefined ? {} : { email: maskEmail(email) }) }
}

/** Masks the address of an invitation. */
export function maskInvitation(invitation: InvitationResponse): InvitationResponse {
  return { ...invitation, email: maskEmail(invitation.email) }
}

/** Masks the address and the user agent of a session. */
export function maskSession(session: SessionResponse): SessionResponse {
  return { ...session, address: maskIpAddress(session.address), user_agent: coarseAgent(session.user_agent) }
}

/** Masks the user agent of a grant. */
export function maskGrant(grant: GrantResponse): GrantResponse {
  return { ...grant, user_agent: coarseAgent(grant.user_agent) }
}

/** Masks the name and the user agent of a passkey. */
export function maskPasskey({ last_user_agent: userAgent, ...passkey }: PasskeyResponse): PasskeyResponse {
  return { ...passkey, name: hidden, ...(userAgent === undefined ? {} : { last_user_agent: coarseAgent(userAgent) }) }
}

/** Masks the address and the subject of an account at a provider: providers may use an address as the subject. */
export function maskLinkedProvider({ email, ...link }: LinkedProviderResponse): LinkedProviderResponse {
  return { ...link, subject: hidden, ...(email === undefined ? {} : { email: maskEmail(email) }) }
}

/** Masks the address, the target and the recorded members of an audit event. */
export function maskEvent(event: AuditEvent): AuditEvent {
  const { address, target, before, after } = event
  return {
    ...event,
    ...(address === undefined ? {} : { address: maskIpAddress(address) }),
    ...(target === undefined || target.type === 'user' ? {} : { target: { ...target, id: maskText(target.id) } }),
    ...(before === undefined ? {} : { before: maskRecorded(before) }),
    ...(after === undefined ? {} : { after: maskRecorded(after) }),
    details: maskRecorded(event.details),
  }
}

const names = new Set(['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username'])
/** Claims that reveal nothing about a person, when they have the expected form. */
const harmless: Readonly<Record<string, RegExp>> = {
  zoneinfo: /^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*){0,2}$/,
  locale: /^[a-z]{2,3}(?:[-_][A-Za-z\d]{2,8}){0,3}$/,
}
const others = new Set(['profile', 'picture', 'website', 'gender', 'birthdate'])

function maskClaims(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, maskClaim(name, value)]))
}

function maskClaim(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return maskMembers({ value }).value
  if (names.has(name)) return maskName(value)
  if (name === 'email') return maskEmail(value)
  if (name === 'phone_number') return maskPhoneNumber(value)
  if (others.has(name)) return hidden
  return harmless[name]?.test(value) ? value : 'string'
}

/** Masks recorded members: by name where it is known, and any text that looks like an address. */
function maskRecorded(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, maskValue(name, value)]))
}

const secretive = new Set(['token', 'device_token', 'data'])

function maskValue(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => maskValue(name, one))
  if (typeof value === 'object' && value !== null) {
    const record = value as Record<string, unknown>
    if (name === 'claims') return maskClaims(record)
    return name === 'address' || secretive.has(name) ? maskMembers(record) : maskRecorded(record)
  }
  if (typeof value !== 'string') return value
  if (name === 'email') return maskEmail(value)
  if (name === 'phone_number') return maskPhoneNumber(value)
  if (name === 'user_agent') return coarseAgent(value)
  if (secretive.has(name)) return hidden
  return maskText(value)
}

/** Masks a text that is an address of any kind; any other text stays. */
function maskText(text: string): string {
  if (isEmailAddress(text)) return maskEmail(text)
  if (isIP(text.split('%')[0] ?? '') !== 0) return maskIpAddress(text)
  return /^\+\d{8,15}$/.test(text) ? maskPhoneNumber(text) : text
}

const coarse = /^[\w]+(?: · [\w]+)?$/

/** Browser and system without versions. A text that is not a browser's is hidden, because it may contain anything. */
function coarseAgent(userAgent: string): string {
  const device = deviceName(userAgent)
  return device !== userAgent.slice(0, device.length) && coarse.test(device) ? device : hidden
}
