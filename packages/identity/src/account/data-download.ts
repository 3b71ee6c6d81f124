import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { OverviewContext } from '../context/features.ts'
import { claimsOf, type User } from '../model/user.ts'
import { readBrowser } from '../sessions/browser.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'

const eventsAtOnce = 500

/** A part of the download: its name, and its content or the items of a list, which are read while it is sent. */
type Part = readonly [name: string, content: object | AsyncIterable<object>]

/** GET /account/data: everything that identity keeps about the user, as JSON. Needs a recent sign-in. */
export function downloadDataEndpoint(
  context: OverviewContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/data')
    if ('sent' in recent) return recent.sent
    const { user } = recent.signedIn
    await audit(context, request, 'data_exported', { actor: user.id, subject: user.id })
    const parts = await collectParts(context, user)
    return reply
      .header('content-disposition', 'attachment; filename="account.json"')
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff')
      .type('application/json; charset=utf-8')
      .send(Readable.from(formatParts(parts)))
  }
}

/** What is kept of a user; secrets and their hashes are left out. What a feature keeps besides is added here. */
async function collectParts({ store, clock }: OverviewContext, user: User): Promise<Part[]> {
  const now = clock.now()
  const [sessions, consents, grants, keys, signIn] = await Promise.all([
    store.sessions.listByUser(user.id, now),
    store.consents.listByUser(user.id),
    store.grants.listByUser(user.id, now),
    store.apiKeys.listByOwner(user.id, now),
    collectSignIn(store, user.id, now),
  ])
  return [
    ['exported_at', { time: time(now) }],
    ['profile', profileOf(user)],
    [
      'sessions',
      sessions.map(({ id, userAgent, address, createdAt, seenAt }) => ({
        id,
        user_agent: userAgent,
        address,
        created_at: time(createdAt),
        seen_at: time(seenAt),
      })),
    ],
    [
      'consents',
      consents.map(({ clientId, scopes, resources, claims, grantedAt }) => ({
        client_id: clientId,
        scopes,
        resources,
        claims,
        granted_at: time(grantedAt),
      })),
    ],
    [
      'apps',
      grants.map(({ clientId, scopes, resources, userAgent, createdAt, usedAt }) => ({
        client_id: clientId,
        scopes,
        resources,
        user_agent: userAgent,
        created_at: time(createdAt),
        used_at: time(usedAt),
      })),
    ],
    [
      'api_keys',
      keys.map(({ id, name, scopes, createdAt, expiresAt }) => ({
        id,
        name,
        scopes,
        created_at: time(createdAt),
        ...(expiresAt === undefined ? {} : { expires_at: time(expiresAt) }),
      })),
    ],
    ...signIn,
    ['events', listEvents(store, user.id)],
  ]
}

/** How the user signs in, and for which organizations. */
async function collectSignIn(store: OverviewContext['store'], userId: string, now: number): Promise<Part[]> {
  const [passkeys, links, enrolled, devices, memberships, former] = await Promise.all([
    store.passkeys.listByUser(userId),
    store.linkedAccounts.listByUser(userId),
    store.factors.find(userId),
    store.rememberedDevices.listByUser(userId, now),
    store.memberships.listByUser(userId, maxMemberships),
    store.memberships.listFormer(userId),
  ])
  return [
    [
      'passkeys',
      passkeys.map(({ id, name, aaguid, transports, createdAt, lastUsedAt, lastUserAgent }) => ({
        id,
        name,
        aaguid,
        transports,
        created_at: time(createdAt),
        last_user_agent: lastUserAgent,
        ...(lastUsedAt === undefined ? {} : { last_used_at: time(lastUsedAt) }),
      })),
    ],
    [
      'providers',
      links.map(({ connectionId, issuer, subject, email, linkedAt, usedAt }) => ({
        connection: connectionId,
        issuer,
        subject,
        email,
        linked_at: time(linkedAt),
        used_at: time(usedAt),
      })),
    ],
    ['factors', enrolled.factors.map(({ kind, createdAt }) => ({ kind, created_at: time(createdAt) }))],
    ['recovery_codes', { left: enrolled.recoveryCodes }],
    [
      'remembered_devices',
      devices.map(({ id, userAgent, createdAt, expiresAt }) => ({
        id,
        user_agent: userAgent,
        created_at: time(createdAt),
        expires_at: time(expiresAt),
      })),
    ],
    [
      'organizations',
      memberships.map(({ organization, roles }) => ({ id: organization.id, name: organization.name, roles })),
    ],
    [
      'former_organizations',
      former.map(({ organizationId, removedAt }) => ({ id: organizationId, removed_at: time(removedAt) })),
    ],
  ]
}

const maxMemberships = 1_000

function profileOf(user: User): object {
  const { id, username, plan, roles, createdAt, updatedAt, passwordHash, passwordChangedAt } = user
  return {
    ...claimsOf(user),
    id,
    username,
    plan,
    roles,
    created_at: time(createdAt),
    updated_at: time(updatedAt),
    ...(passwordHash === undefined ? {} : { password_changed_at: time(passwordChangedAt) }),
  }
}

/** The security events of the user. Who else acted, and from where, is about others and left out. */
async function* listEvents(store: OverviewContext['store'], subject: string): AsyncGenerator<object> {
  for (let after: string | undefined; ; ) {
    const events = await store.audit.list({ subject, after, limit: eventsAtOnce })
    for (const { at, type, actor, clientId, address, action } of events) {
      const own = actor === undefined || actor === subject
      yield { time: time(at), type, action, client_id: clientId, ...(own ? { address } : {}) }
    }
    after = events.at(-1)?.id
    if (events.length < eventsAtOnce || after === undefined) return
  }
}

async function* formatParts(parts: readonly Part[]): AsyncGenerator<string> {
  let separator = '{\n'
  for (const [name, content] of parts) {
    yield `${separator}${JSON.stringify(name)}: `
    if (Symbol.asyncIterator in content) yield* formatList(content)
    else yield JSON.stringify(content, undefined, 1)
    separator = ',\n'
  }
  yield '\n}\n'
}

async function* formatList(items: AsyncIterable<object>): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const item of items) {
    yield `${separator}${JSON.stringify(item)}`
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]' : '\n]'
}

function time(at: number): string {
  return new Date(at).toISOString()
}
