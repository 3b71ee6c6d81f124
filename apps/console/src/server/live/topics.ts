import { Problem } from '@gatehouse/kit'
import { factsOf, type OperationId, serviceOf } from '../../actions/index.ts'
import type { ApiService } from '../options.ts'

/** What a page can follow: something that is polled here, or a notification, whose service has a stream. */
export type Topic =
  | { readonly name: string; readonly kind: 'polled'; readonly service: ApiService; readonly path: string }
  | { readonly name: string; readonly kind: 'notification'; readonly service: ApiService; readonly id: string }

/**
 * The topics without a stream of their own: the read whose answer is compared. It is called with the tokens of the
 * session, so that nobody is told of what they may not read.
 */
const polled: Readonly<Record<string, readonly [operation: OperationId, query: string]>> = {
  overview: ['queue.get', ''],
  notifications: ['notifications.list', '?limit=1'],
  'dead-letters': ['deadLetters.list', '?limit=20'],
  providers: ['providers.list', '?limit=200'],
  limits: ['limits.settings.get', ''],
}

const notification = /^notification:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/** The most topics of one connection. */
const maxTopics = 12
/** The most notifications that one connection follows: as many as the service lets a person, less some for others. */
const maxNotifications = 8

/** The topics that a request names. @throws Problem 400 for one that there is not, or too many */
export function parseTopics(query: unknown): readonly Topic[] {
  const { topic = [] } = query as { readonly topic?: string | readonly string[] }
  const names = [...new Set([topic].flat())]
  const topics = names.map((name) => parseTopic(String(name)))
  const followed = topics.filter(({ kind }) => kind === 'notification').length
  if (topics.length === 0 || topics.length > maxTopics || followed > maxNotifications)
    throw new Problem(400, `topic must be there 1 to ${maxTopics} times, ${maxNotifications} times for notifications.`)
  return topics
}

function parseTopic(name: string): Topic {
  const [, id] = notification.exec(name) ?? []
  if (id !== undefined) return { name, kind: 'notification', service: 'notify', id }
  const [operation, query] = Object.hasOwn(polled, name) ? (polled[name] ?? []) : []
  if (operation === undefined)
    throw new Problem(400, `topic must be notification:ID or one of ${Object.keys(polled).join(', ')}.`)
  return { name, kind: 'polled', service: serviceOf(operation), path: `${factsOf(operation).path}${query}` }
}
