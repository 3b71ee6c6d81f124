import type { FastifyRequest, FastifySchema } from 'fastify'
import type { AccessControl } from './caller.ts'
import { type OperationId, operation } from './operations.ts'
import type { Access } from './scopes.ts'

/** Tags of the API document where they are not the noun before the verb of an operation's id. */
const tags: Readonly<Record<string, string>> = {
  choices: 'preferences',
  clicks: 'tracking',
  content: 'notifications',
  data: 'privacy',
  deadLetters: 'dead letters',
  eventTypes: 'event types',
  opens: 'tracking',
  order: 'providers',
  parked: 'scheduled',
  pending: 'scheduled',
  preferencesPage: 'subscriptions',
  queue: 'deliveries',
  receipts: 'tracking',
  replays: 'dead letters',
  reservedMails: 'notifications',
  shortLinks: 'tracking',
  standing: 'notifications',
  stats: 'statistics',
  summary: 'dead letters',
  unsubscribePage: 'subscriptions',
  samples: 'templates',
  texts: 'templates',
  versions: 'templates',
}

/**
 * The schema of a route with its operation: id, tag, summary and description in the API document. An operation is public
 * (`security: []`) unless its route says which access it needs.
 *
 * @example
 * export const getEventType = describeOperation('eventTypes.get', { params: EventTypeParams, response: { 200: EventType } })
 */
export function describeOperation<const Schema extends FastifySchema>(id: OperationId, schema: Schema) {
  const group = id.split('.').at(-2) ?? ''
  return { tags: [tags[group] ?? group], ...operation(id), security: [], ...schema }
}

/**
 * Answers with what the handler returns, whatever the schema of the response says: a timeline may have entries that
 * another version of the program wrote.
 */
export const asReturned = { serializerCompiler: () => JSON.stringify }

/** What a route is registered with: who may call it, and its schema. */
export interface RouteOptions<Schema extends FastifySchema> {
  readonly onRequest: (request: FastifyRequest) => Promise<void>
  readonly schema: Schema
}

/** Builds the options of a route from the access it needs and its schema. */
export type BuildRoute = <Schema extends FastifySchema>(needed: Access, schema: Schema) => RouteOptions<Schema>

/**
 * The kinds of routes: `allow` for callers with a scope of the access, `allowRecent` for those who signed in a moment ago
 * as well, `own` for paths under `/v1/users/{id}`, where users reach what is their own too.
 */
export function createRouteBuilders(
  access: AccessControl,
): Readonly<Record<'allow' | 'allowRecent' | 'own', BuildRoute>> {
  const build =
    (hook: 'allow' | 'allowRecent' | 'allowUnder'): BuildRoute =>
    (needed, schema) => ({ onRequest: access[hook](needed), schema: { ...schema, security: access.security(needed) } })
  return { allow: build('allow'), allowRecent: build('allowRecent'), own: build('allowUnder') }
}
