import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { signedOut } from '../proxy/signed-in-call.ts'
import { readSession } from '../session/reader.ts'
import { type FollowOptions, followTopic } from './follow.ts'
import { createPlaces } from './places.ts'
import { liveRules } from './rules.ts'
import { parseTopics, type Topic } from './topics.ts'

const reconnectMs = 2_000
/** A sign of life that the pages see, and tell their other tabs. */
const beat = 'event: beat\ndata: {}\n\n'
/** A reader that leaves more than this unread is cut off, in bytes. */
const maxUnread = 1024 * 1024

/**
 * GET /console/live?topic=…: what changes, as server-sent events (WHATWG HTML §9.2) `live` with the data `{topic, event,
 * data}`, until the session ends. The id of an event has the position in every topic; a connection that sends it as
 * Last-Event-ID goes on from there, also with other topics.
 */
export function liveEndpoint(context: ConsoleContext) {
  const rules = context.live ?? liveRules
  const places = createPlaces(rules)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const session = await readSession({ ...context, sessions: context.store.sessions }, request.headers, false)
    if (session === undefined) throw signedOut()
    const topics = parseTopics(request.query).filter(({ service }) => context.connections.names.includes(service))
    const followed = topics.filter(({ kind }) => kind === 'notification').length
    const release = places.acquire(session, followed)
    const { raw } = reply
    const ended = new AbortController()
    const end = () => ended.abort()
    raw.once('close', end)
    const forget = context.openAnswers.add(session.idHash, end)
    reply.hijack()
    begin(raw, request.id)
    const beats = setInterval(() => send(raw, beat, end), rules.heartbeatMs)
    const life = setTimeout(end, rules.maxLifeMs)
    const after = new URLSearchParams(String(request.headers['last-event-id'] ?? ''))
    const options = { context, request, idHash: session.idHash, rules, signal: ended.signal }
    ended.signal.addEventListener('abort', () => {
      clearInterval(beats)
      clearTimeout(life)
      forget()
      release()
      raw.end()
    })
    if (raw.destroyed) return end()
    const positions = new Map(topics.flatMap(({ name }) => (after.has(name) ? [[name, after.get(name) ?? '']] : [])))
    for (const topic of topics) void follow(topic, positions, { ...options, raw, end })
  }
}

interface Following extends FollowOptions {
  readonly raw: ServerResponse
  readonly end: () => void
}

/** Writes what is new in a topic. The end of the session ends the connection. */
async function follow(topic: Topic, positions: Map<string, string>, { raw, end, ...options }: Following) {
  const { request, signal } = options
  try {
    for await (const { event, data, position } of followTopic(topic, positions.get(topic.name), options)) {
      if (signal.aborted) return
      positions.set(topic.name, position)
      const id = `id: ${new URLSearchParams([...positions])}\n`
      const change =
        event === undefined ? '' : `event: live\ndata: ${JSON.stringify({ topic: topic.name, event, data })}\n`
      send(raw, `${id}${change}\n`, end)
    }
  } catch (error) {
    if (signal.aborted) return
    request.log.info({ err: error, topic: topic.name }, 'a live connection was ended')
    end()
  }
}

function begin(raw: ServerResponse, requestId: string): void {
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  })
  raw.write(`retry: ${reconnectMs}\n${beat}`)
}

function send(raw: ServerResponse, text: string, end: () => void): void {
  if (raw.writableLength > maxUnread) {
    end()
    raw.destroy()
  } else raw.write(text)
}
