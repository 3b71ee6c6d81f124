import { randomUUID } from 'node:crypto'
import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { signedOut } from '../proxy/signed-in-call.ts'
import { readSession } from '../session/reader.ts'
import type { Session } from '../session/session.ts'
import { maxViews, type SavedView } from './store.ts'

const screens = /^(\/[a-z-]{1,60}){1,3}$/
const maxNameLength = 80
const maxFilters = 20
const maxFilterLength = 500
/** What filters by a person's address or key is not kept: it would outlive an erasure. */
const personal: ReadonlySet<string> = new Set(['email', 'phone_number', 'address', 'dedup_key'])

/** GET /console/api/views?screen=…: the person's own views of a screen. */
export function listViews(context: ConsoleContext) {
  return async (request: FastifyRequest): Promise<{ items: readonly SavedView[] }> => {
    const { userId } = await requireSession(context, request)
    const { screen } = request.query as { readonly screen?: unknown }
    return { items: await context.store.views.list(userId, parseScreen(screen)) }
  }
}

/** POST /console/api/views: saves a view; one of the same screen and name is replaced. */
export function saveView(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { userId } = await requireSession(context, request)
    const view = parseView(request.body)
    if (!(await context.store.views.save(userId, view, context.clock.now())))
      throw new Problem(409, `You have ${maxViews} saved views; remove one first.`)
    return reply.code(201).send({ saved: true })
  }
}

/** DELETE /console/api/views/{id} */
export function removeView(context: ConsoleContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { userId } = await requireSession(context, request)
    const { id } = request.params as { readonly id: string }
    if (!(await context.store.views.remove(userId, id))) throw new Problem(404, `You have no view ${id}.`)
    return reply.code(204).send()
  }
}

async function requireSession(context: ConsoleContext, request: FastifyRequest): Promise<Session> {
  const session = await readSession({ ...context, sessions: context.store.sessions }, request.headers)
  if (session === undefined) throw signedOut()
  return session
}

function parseScreen(screen: unknown): string {
  if (typeof screen === 'string' && screens.test(screen)) return screen
  throw new Problem(400, 'screen must be the path of a screen, such as /notifications.')
}

function parseView(body: unknown): SavedView {
  const { screen, name, filters } = readObject(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxNameLength || !isStorable(name))
    throw new Problem(400, `name must be a text of 1 to ${maxNameLength} characters.`)
  return { id: randomUUID(), screen: parseScreen(screen), name: name.trim(), filters: parseFilters(filters) }
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000')
}

function parseFilters(filters: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof filters === 'object' && filters !== null ? filters : {})
  const isGood = ([name, value]: [string, unknown]) =>
    /^[a-z_]{1,60}$/.test(name) && typeof value === 'string' && value.length <= maxFilterLength && isStorable(value)
  if (entries.length === 0 || entries.length > maxFilters || !entries.every(isGood))
    throw new Problem(400, `filters must be an object of 1 to ${maxFilters} texts.`)
  const refused = entries.find(([name]) => personal.has(name))
  if (refused) throw new Problem(400, `The filter ${refused[0]} is not kept in a saved view.`)
  return Object.fromEntries(entries) as Record<string, string>
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new Problem(400, 'The body must be a JSON object.')
}
