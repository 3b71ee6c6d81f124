import { isIP } from 'node:net'
import { isEmailAddress, maskEmail, maskIpAddress, maskMembers, maskName, maskPhoneNumber } from '@gatehouse/kit'
import { deviceName } from '../pages/device-name.ts'
import type { AuditEvent } from '../store/index.ts'
import type { Authority } from './authority.ts'
import type { MemberResponse } from './roles/roles.ts'
import type { SessionResponse } from './users/access.ts'
import type { UserResponse } from './users/users.ts'

/*
 * What callers see who may not read personal data. Identifiers (the subject, a client id) are shown: they name a record,
 * and products choose them.
 */

const hidden = '•••'

/** The answer as the caller may see it. */
export function maskUnlessPermitted<Answer>(by: Authority, answer: Answer, mask: (answer: Answer) => Answer): Answer {
  return by.unrestricted || by.scopes.has('read:personal-data') ? answer : mask(answer)
}

export function maskUser(user: UserResponse): UserResponse {
  return {
    ...user,
    ...(user.username === undefined ? {} : { username: maskText(user.username) }),
    ...(user.email === undefined ? {} : { email: maskEmail(user.email) }),
    claims: maskClaims({ ...user.claims }),
  }
}

export function maskMember(member: MemberResponse): MemberResponse {
  return { ...member, username: maskText(member.username) }
}

export function maskSession(session: SessionResponse): SessionResponse {
  return { ...session, address: maskIpAddress(session.address), user_agent: coarseAgent(session.user_agent) }
}

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
/** Claims that say nothing about who somebody is, when they look like what they should be. */
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

/** Members as a service recorded them: by their names where those are known, and whatever looks like an address. */
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

/** A text that is an address of any kind, masked as one; every other as it is. */
function maskText(text: string): string {
  if (isEmailAddress(text)) return maskEmail(text)
  if (isIP(text.split('%')[0] ?? '') !== 0) return maskIpAddress(text)
  return /^\+\d{8,15}$/.test(text) ? maskPhoneNumber(text) : text
}

const coarse = /^[\w]+(?: · [\w]+)?$/

/** Browser and system without versions. What is no browser may say anything, so nothing of it is shown. */
function coarseAgent(userAgent: string): string {
  const device = deviceName(userAgent)
  return device !== userAgent.slice(0, device.length) && coarse.test(device) ? device : hidden
}
