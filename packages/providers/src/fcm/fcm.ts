import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { createCollapseId } from '../push/collapse-id.ts'
import { createPushData, omitReceiptToken, type PushData } from '../push/push-data.ts'
import {
  type AccessTokens,
  createAccessTokens,
  readServiceAccount,
  type ServiceAccount,
} from '../transport/access-token.ts'
import { createHttpClient, type HttpResponse, parseBaseUrl } from '../transport/http.ts'
import { createHttp2Client, type Http2Client, resultOfStreamError } from '../transport/http2.ts'
import { resultOfResponse } from './send-result.ts'

const maxPayloadBytes = 4_096

interface Fcm {
  readonly caller: Http2Client
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
    const {
      service_account: serviceAccount,
      url,
      ttl_seconds: ttl,
      timeout_seconds: seconds = 10,
      connections = 4,
    } = declared
    const account = readAccount(serviceAccount, context.folder)
    const callMs = seconds * 1_000
    const { origin, pathname } = parseBaseUrl('url', url ?? 'https://fcm.googleapis.com')
    const caller = createHttp2Client(origin, { connections, timeoutMs: callMs })
    const tokenCaller = createHttpClient(account.tokenUri, { timeoutMs: callMs, connections: 1 })
    const settings: Fcm = {
      caller,
      path: `${pathname.replace(/\/$/, '')}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`,
      tokens: createAccessTokens(account, tokenCaller, context.clock),
      ttlSeconds: ttl ?? maxTtlSeconds,
      now: () => context.clock.now(),
    }
    return {
      name: context.name,
      channel: 'push',
      timeoutMs: 2 * callMs,
      batchSize: 10,
      supports: ({ service }) => service === 'fcm',
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(settings, message, signal))),
      async close() {
        caller.close()
        await tokenCaller.close()
      },
    }
  },
})

function readAccount(given: string, folder: string): ServiceAccount {
  try {
    return readServiceAccount(readTextOrFile(given, /^\s*\{/, folder))
  } catch (error) {
    throw new RangeError(`service_account ${(error as Error).message}`)
  }
}

/** A token that is refused is replaced once: it may have been revoked before its time. */
async function sendPush(fcm: Fcm, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const data = fitData(message)
  const body = JSON.stringify({ message: createMessage(message, data, fcm) })
  if (countPayloadBytes(message, data) > maxPayloadBytes)
    return { kind: 'permanent', code: 'PAYLOAD_TOO_LARGE', reason: `FCM takes ${maxPayloadBytes} bytes at most` }
  const calledAt = fcm.now()
  const first = await call(fcm, body, signal)
  if (first.kind === 'result') return first.result
  if (first.answer.status !== 401) return resultOfResponse(first.answer, calledAt)
  fcm.tokens.discard(first.token)
  const second = await call(fcm, body, signal)
  return second.kind === 'result' ? second.result : resultOfResponse(second.answer, calledAt)
}

type CallResult =
  | { readonly kind: 'answer'; readonly answer: HttpResponse; readonly token: string }
  | { readonly kind: 'result'; readonly result: SendResult }

async function call({ caller, path, tokens }: Fcm, body: string, signal: AbortSignal): Promise<CallResult> {
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
    const answer = await caller.request(headers, body, signal)
    return { kind: 'answer', answer, token: access.token }
  } catch (error) {
    return { kind: 'result', result: resultOfStreamError(error) }
  }
}

/**
 * The message. A second one with the same id takes the first one's place on the device: Android shows one notification
 * per tag, Apple's one per collapse id, the web's one per tag. Android's collapse_key is left out: FCM keeps four of
 * them for a device that is offline, and would lose the rest.
 */
function createMessage(message: OutgoingMessage, data: PushData, { ttlSeconds: ttl, now }: Fcm): object {
  const { id, target, content } = message
  const notification = { ...(content.subject === undefined ? {} : { title: content.subject }), body: content.body }
  const tag = createCollapseId(id, 64)
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
function countPayloadBytes({ content }: OutgoingMessage, data: PushData): number {
  return Buffer.byteLength([content.subject ?? '', content.body, ...Object.entries(data).flat()].join(''))
}

/** The data, without the receipt token where that is what makes the message too large. */
function fitData(message: OutgoingMessage): PushData {
  const data = createPushData(message)
  return countPayloadBytes(message, data) > maxPayloadBytes ? createPushData(omitReceiptToken(message)) : data
}
