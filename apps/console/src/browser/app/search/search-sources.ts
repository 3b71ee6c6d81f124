import { ApiError, type ApiKey } from '@gatehouse/client'
import type { ActionId } from '../../../actions/index.ts'
import { callOperation } from '../../api/call.ts'
import type { IconName } from '../../parts/icon.tsx'
import { few, type Hit, match } from './search-hits.ts'
import type { SearchTarget } from './search-target.ts'

/** What is searched. */
export type SourceName =
  | 'users'
  | 'recipients'
  | 'notifications'
  | 'deliveries'
  | 'deadLetters'
  | 'sessions'
  | 'apiKeys'
  | 'clients'
  | 'eventTypes'
  | 'templates'
  | 'providers'

/** A source of hits: which action reads it, of which section it is, and what it says to a target. */
export interface Source {
  readonly name: SourceName
  readonly action: ActionId
  readonly section: string
  readonly icon: IconName
  readonly kinds: readonly SearchTarget['kind'][]
  find(target: SearchTarget, signal: AbortSignal): Promise<readonly Hit[]>
}

/** How many entries of a small list are looked through. */
const many = 200

const user = (id: string, description?: string): Hit => ({
  id,
  label: id,
  description,
  open: { to: '/users/$id', params: { id } },
})
const notification = (id: string, description: string): Hit => ({
  id,
  label: id,
  description,
  open: { to: '/notifications/$id', params: { id } },
})

const apiKey = ({ id, name, owner, prefix }: ApiKey): Hit => ({
  id,
  label: name,
  description: `${prefix}… · ${owner}`,
  open: { to: '/api-keys', search: { owner, q: prefix } },
})

/** Everything that the search looks through. */
export const sources: readonly Source[] = [
  {
    name: 'users',
    action: 'searchUsers',
    section: '/users',
    icon: 'users',
    kinds: ['text', 'mail', 'phone', 'uuid'],
    async find(target, signal) {
      if (target.kind === 'uuid')
        return orNothing(async () => [user((await callOperation('users.get', { id: target.id }, { signal })).id)])
      const filter = lookupOf(target)
      if (filter === undefined) return []
      const { items } = await callOperation('users.search', { ...filter, limit: few }, { signal })
      return items.map(({ id, username, email }) => user(id, email ?? (username === id ? undefined : username)))
    },
  },
  {
    name: 'recipients',
    action: 'searchRecipients',
    section: '/users',
    icon: 'mail',
    kinds: ['text', 'mail', 'phone'],
    async find(target, signal) {
      const filter = lookupOf(target)
      if (filter === undefined) return []
      const { items } = await callOperation('recipients.search', { ...filter, limit: few }, { signal })
      return items.map(({ user_id: id, email }) => user(id, email))
    },
  },
  {
    name: 'notifications',
    action: 'readNotification',
    section: '/notifications',
    icon: 'bell',
    kinds: ['uuid', 'dedup_key'],
    async find(target, signal) {
      if (target.kind === 'uuid')
        return orNothing(async () => {
          const { event, user_id: id } = await callOperation('notifications.get', { id: target.id }, { signal })
          return [notification(target.id, `${event} · ${id}`)]
        })
      if (target.kind !== 'dedup_key') return []
      const query = { dedup_key: target.key, user_id: target.userId, limit: few }
      const { items } = await callOperation('notifications.list', query, { signal })
      return items.map(({ id, event }) => notification(id, `${event} · ${target.userId}`))
    },
  },
  {
    name: 'deliveries',
    action: 'findDelivery',
    section: '/notifications',
    icon: 'bell',
    kinds: ['uuid'],
    find: (target, signal) =>
      orNothing(async () => {
        if (target.kind !== 'uuid') return []
        const found = await callOperation('deliveries.get', { id: target.id }, { signal })
        return [notification(found.notification_id, found.channel)]
      }),
  },
  {
    name: 'deadLetters',
    action: 'findDeadLetter',
    section: '/dead-letters',
    icon: 'inbox',
    kinds: ['uuid'],
    find: (target, signal) =>
      orNothing(async () => {
        if (target.kind !== 'uuid') return []
        await callOperation('deadLetters.get', { id: target.id }, { signal })
        return [{ id: target.id, label: target.id, open: { to: '/dead-letters' } }]
      }),
  },
  {
    name: 'sessions',
    action: 'findSessions',
    section: '/sessions',
    icon: 'monitor',
    kinds: ['uuid'],
    async find(target, signal) {
      if (target.kind !== 'uuid') return []
      const { items } = await callOperation('sessions.list', { id: target.id }, { signal })
      return items.map(({ id, user_id: userId }) => ({
        id,
        label: id,
        description: userId,
        open: { to: '/sessions', search: { id } },
      }))
    },
  },
  {
    name: 'apiKeys',
    action: 'findApiKey',
    section: '/api-keys',
    icon: 'key',
    kinds: ['uuid', 'api_key'],
    async find(target, signal) {
      if (target.kind === 'uuid')
        return orNothing(async () => [apiKey(await callOperation('apiKeys.get', { id: target.id }, { signal }))])
      if (target.kind !== 'api_key' || target.key === undefined) return []
      const { items } = await callOperation('apiKeys.identify', { key: target.key }, { signal })
      return items.map((key) => ({ ...apiKey(key), matched: key.matched }))
    },
  },
  {
    name: 'clients',
    action: 'listClients',
    section: '/clients',
    icon: 'app',
    kinds: ['text', 'uuid'],
    async find(target, signal) {
      const { items } = await callOperation('clients.list', { limit: many }, { signal })
      return match(
        target,
        items.map(({ client_id: id, client_name: name }) => ({
          id,
          label: id,
          description: name,
          open: { to: '/clients/$id', params: { id } },
        })),
      )
    },
  },
  {
    name: 'eventTypes',
    action: 'listEventTypes',
    section: '/event-types',
    icon: 'list',
    kinds: ['text'],
    async find(target, signal) {
      const { items } = await callOperation('eventTypes.list', { limit: many }, { signal })
      return match(
        target,
        ownFirst(items).map(({ event, title }) => ({
          id: event,
          label: event,
          description: title,
          open: { to: '/event-types/$event', params: { event } },
        })),
      )
    },
  },
  {
    name: 'templates',
    action: 'findTemplates',
    section: '/templates',
    icon: 'pen',
    kinds: ['text'],
    async find(target, signal) {
      const { items } = await callOperation('templates.list', { limit: many }, { signal })
      const ids = [...new Set(ownFirst(items).map(({ template_id: id }) => id))]
      return match(
        target,
        ids.map((id) => ({ id, label: id, open: { to: '/templates', search: { q: id } } })),
      )
    },
  },
  {
    name: 'providers',
    action: 'findProviders',
    section: '/providers',
    icon: 'pulse',
    kinds: ['text'],
    async find(target, signal) {
      const { items } = await callOperation('providers.list', { limit: many }, { signal })
      return match(
        target,
        items.map(({ name, channel }) => ({
          id: name,
          label: name,
          description: channel,
          open: { to: '/providers/$name', params: { name } },
        })),
      )
    },
  },
]

/** What the product sends comes before what the program sends itself: only a few are shown. */
function ownFirst<Item extends { readonly reserved?: boolean }>(items: readonly Item[]): readonly Item[] {
  return items.toSorted((a, b) => Number(a.reserved === true) - Number(b.reserved === true))
}

/** What a search by body takes for a target. */
function lookupOf(target: SearchTarget) {
  if (target.kind === 'text') return { q: target.text }
  if (target.kind === 'mail') return { email: target.email }
  return target.kind === 'phone' ? { phone_number: target.phone_number } : undefined
}

/** What a look-up found; what is not there is nothing. */
async function orNothing(find: () => Promise<readonly Hit[]>): Promise<readonly Hit[]> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}
