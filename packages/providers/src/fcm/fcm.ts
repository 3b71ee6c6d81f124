import { Type } from 'typebox'
import { defineProvider } from '../model/kind.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { longestTtlSeconds, timeoutSeconds, ttlSeconds } from '../options/members.ts'
import { textOrFile } from '../options/secret-file.ts'
import { collapseId } from '../push/collapse-id.ts'
import { type PushData, pushData, withoutReceiptToken } from '../push/push-data.ts'
import {
  type AccessTokens,
  createAccessTokens,
  readServiceAccount,
  type ServiceAccount,
} from '../transport/access-token.ts'
import { baseUrl, createHttpCaller, type HttpAnswer } from '../transport/http.ts'
import { createHttp2Caller, type Http2Caller, unansweredStream } from '../transport/http2.ts'
import { fcmResult } from './send-result.ts'

const mostPayloadBytes = 4_096

interface Fcm {
  readonly caller: Http2Caller
  readonly path: string
  readonly tokens: AccessTokens
  readonly ttlSeconds: number
  now(): number
}

/** Carries push over Firebase Cloud Messaging, HTTP v1 (firebase.google.com/docs/reference/fcm/rest/v1/projects.messages). */
export const fcm = defineProvider({
  kind: 'fcm',
  channels: ['push'],
  description: 'Push over Firebase Cloud Messaging, to devices whose service is fcm.',
  members: {
    service_account: Type.String({
      minLength: 1,
      description: "The service account's JSON, or the path of its file from the configuration file.",
      examples: ['./firebase.json', '${FIREBASE_SERVICE_ACCOUNT}'],
    }),
    url: Type.Optional(Type.String({ description: "FCM's address.", default: 'https://fcm.googleapis.com' })),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 32, description: 'Most connections; each carries many pushes.', default: 4 }),
    ),
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const { service_account: given, url, ttl_seconds: ttl, timeout_seconds: seconds = 10, connections = 4 } = declared
    const account = accountOf(given, context.folder)
    const callMs = seconds * 1_000
    const { origin, pathname } = baseUrl('url', url ?? 'https://fcm.googleapis.com')
    const caller = createHttp2Caller(origin, { connections, callMs })
    const tokenCaller = createHttpCaller(account.tokenUri, { callMs, connections: 1 })
    const settings: Fcm = {
      caller,
      path: `${pathname.replace(/\/$/, '')}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`,
      tokens: createAccessTokens(account, tokenCaller, context.clock),
      ttlSeconds: ttl ?? longestTtlSeconds,
      now: () => context.clock.now(),
    }
    return {
      name: context.name,
      channel: 'push',
      timeoutMs: 2 * callMs,
      batchSize: 10,
      carries: ({ service }) => service === 'fcm',
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(settings, message, signal))),
      async close() {
        caller.close()
        await tokenCaller.close()
      },
    }
  },
})

function accountOf(given: string, folder: string): ServiceAccount {
  try {
    return readServiceAccount(textOrFile(given, /^\s*\{/, folder))
  } catch (error) {
    throw new RangeError(`service_account ${(error as Error).message}`)
  }
}

/** A token that is refused is replaced once: it may have been revoked before its time. */
async function sendPush(fcm: Fcm, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const data = fittingData(message)
  const body = JSON.stringify({ message: messageOf(message, data, fcm) })
  if (payloadBytes(message, data) > mostPayloadBytes)
    return { kind: 'permanent', code: 'PAYLOAD_TOO_LARGE', reason: `FCM takes ${mostPayloadBytes} bytes at most` }
  const calledAt = fcm.now()
  const first = await call(fcm, body, signal)
  if (first.kind === 'result') return first.result
  if (first.answer.status !== 401) return fcmResult(first.answer, calledAt)
  fcm.tokens.drop(first.token)
  const second = await call(fcm, body, signal)
  return second.kind === 'result' ? second.result : fcmResult(second.answer, calledAt)
}

type Called =
  | { readonly kind: 'answer'; readonly answer: HttpAnswer; readonly token: string }
  | { readonly kind: 'result'; readonly result: SendResult }

async function call({ caller, path, tokens }: Fcm, body: string, signal: AbortSignal): Promise<Called> {
  const access = await tokens.get(signal)
  if (access.kind === 'none') return { kind: 'result', result: access.result }
  const headers = {
    ':method': 'POST',
    ':path': path,
    authorization: `Bearer ${access.token}`,
    'content-type': 'application/json',
    'user-agent': 'gatehouse',
  }
  try {
    const answer = await caller.call(headers, body, signal)
    return { kind: 'answer', answer, token: access.token }
  } catch (error) {
    return { kind: 'result', result: unansweredStream(error) }
  }
}

/**
 * The message. A second one with the same id takes the first one's place on the device: Android shows one notification
 * per tag, Apple's one per collapse id, the web's one per tag. Android's collapse_key is left out: FCM keeps four of
 * them for a device that is offline, and would lose the rest.
 */
function messageOf(message: OutgoingMessage, data: PushData, { ttlSeconds: ttl, now }: Fcm): object {
  const { id, target, content } = message
  const notification = { ...(content.subject === undefined ? {} : { title: content.subject }), body: content.body }
  const tag = collapseId(id, 64)
  const expiration = String(ttl === 0 ? 0 : Math.floor(now() / 1_000) + ttl)
  return {
    token: target.address,
    notification,
    data,
    android: { priority: 'HIGH', ttl: `${ttl}s`, notification: { tag } },
    apns: { headers: { 'apns-collapse-id': tag, 'apns-priority': '10', 'apns-expiration': expiration } },
    webpush: { headers: { TTL: String(ttl), Urgency: message.critical ? 'high' : 'normal' }, notification: { tag } },
  }
}

/** What counts against FCM's limit: the notification and the data. */
function payloadBytes({ content }: OutgoingMessage, data: PushData): number {
  return Buffer.byteLength([content.subject ?? '', content.body, ...Object.entries(data).flat()].join(''))
}

/** The data, without the receipt token where that is what makes the message too large. */
function fittingData(message: OutgoingMessage): PushData {
  const data = pushData(message)
  return payloadBytes(message, data) > mostPayloadBytes ? pushData(withoutReceiptToken(message)) : data
}
