import { isEmailAddress, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { parsePhoneNumber } from '../../model/factors/phone-number.ts'
import { normalizeName, type User } from '../../model/user.ts'
import type { UserFilter } from '../../store/index.ts'
import { formatLastSignIn } from './last-sign-in.ts'
import { formatUser, type UserResponse } from './users.ts'

/** Members of a search that say nothing about a person, so that they may be in an address. */
export const openFilterMembers = {
  q: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'The beginning of the id or of the username.' }),
  ),
  plan: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only users with this plan.' })),
  role: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Only users with this role.' })),
  locked: Type.Optional(Type.Boolean({ description: 'Only users who are locked, or only others.' })),
  verified: Type.Optional(Type.Boolean({ description: 'Only users whose address is verified, or only others.' })),
}

/** All members of a search: in a body, which no log has. */
export const filterMembers = {
  ...openFilterMembers,
  email: Type.Optional(Type.String({ minLength: 3, maxLength: 254, description: 'The whole address.' })),
  phone_number: Type.Optional(
    Type.String({ minLength: 4, maxLength: 40, description: 'The whole number, with its country code.' }),
  ),
}

/** What users are searched by, as a request says it. */
export type UserQuery = Static<ReturnType<typeof Type.Object<typeof filterMembers>>>

const personal = /@|^\s*\+?[\d\s()./-]{6,}$/

/** Whether the beginning of an id or a username looks like an address or a number. */
function isPersonal(q: string | undefined): boolean {
  return q !== undefined && personal.test(q)
}

/** The beginning of a mail address or a number, where that is what a search begins with. */
export function isAddressLike(q: string | undefined): string | undefined {
  return q !== undefined && /@|^\s*\+/.test(q) ? q : undefined
}

/** What the audit trail says of a search: which address or number was looked for is no matter of it. */
export function auditedQuery({ q, email, phone_number: phoneNumber, ...open }: UserQuery): Record<string, unknown> {
  const isOpen = email === undefined && phoneNumber === undefined && !isPersonal(q)
  const shown = q === undefined || isPersonal(q) ? {} : { q }
  return { ...open, ...shown, ...(isOpen ? {} : { address: 'one address' }) }
}

/**
 * The filter of a request whose address holds it. @throws Problem 400 for an address or a number: addresses of requests
 * are logged
 */
export function parseOpenFilter(query: Omit<UserQuery, 'email' | 'phone_number'>): UserFilter {
  if (isPersonal(query.q)) {
    const detail = 'looks like a mail address or a phone number: search for those by POST /admin/v1/users/search'
    throw new Problem(400, `/q ${detail}.`, { errors: [{ pointer: '/q', detail }] })
  }
  return parseFilter(query)
}

/** The filter of a request whose body holds it. @throws Problem 400 for an address or a number that is none */
export function parseFilter({ q, email, phone_number: phone, plan, role, locked, verified }: UserQuery): UserFilter {
  const phoneNumber = phone === undefined ? undefined : parsePhoneNumber(phone)
  const errors = [
    ...(email === undefined || isEmailAddress(email.trim())
      ? []
      : [{ pointer: '/email', detail: 'must be a whole mail address, such as ada@example.com' }]),
    ...(phone === undefined || phoneNumber !== undefined
      ? []
      : [
          { pointer: '/phone_number', detail: 'must be a whole number with its country code, such as +44 7700 900123' },
        ]),
  ]
  if (errors.length > 0)
    throw new Problem(400, `${errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}.`, { errors })
  const prefix = q === undefined ? undefined : { id: q.trim(), username: normalizeName(q) }
  return { prefix, email: email?.trim().toLowerCase(), phoneNumber, plan, role, locked, verified }
}

/** Lists the users that a filter selects, in the order of their ids. */
export async function searchUsers(
  context: Pick<AdminContext, 'store'>,
  filter: UserFilter,
  after: string,
  limit: number,
): Promise<UserResponse[]> {
  return addLastSignIns(context, await context.store.userDirectory.search(filter, after, limit))
}

/** Users with when they signed in last. */
async function addLastSignIns({ store }: Pick<AdminContext, 'store'>, users: readonly User[]): Promise<UserResponse[]> {
  const times = await store.userDirectory.findLastSignIns(users.map(({ id }) => id))
  return users.map((user) => ({ ...formatUser(user), ...formatLastSignIn(times.get(user.id)) }))
}
