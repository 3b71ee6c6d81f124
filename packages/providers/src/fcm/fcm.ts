import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { http2Connections, maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createCollapseId } from '../push/collapse-id.ts'
import { createPushData, omitReceiptToken, type PushData, type PushSize } from '../push/push-data.ts'
import {
  type AccessTokens,
  createAccessTokens,
  readServiceAccount,
  type ServiceAccount,
} from '../transport/access-token.ts'
import { createHttpClient, type HttpResponse, parseBaseUrl } from '../transport/http.ts'
import { createHttp2Client, type Http2Client, resultOfStreamError } from '../transport/http2.ts'
import { isTokenRejected, resultOfResponse } from './send-result.ts'

const maxPayloadBytes = 4_096

interface FcmSender {
  readonly client: Http2Client
  readonly path: string
  readonly tokens: AccessTokens
  readonly ttlSeconds: number
  now(): number
  /** Set once a push was accepted: the project is that of the devices. */
  proven: boolean
}

/** Push over Firebase Cloud Messaging, HTTP v1 (firebase.google.com/docs/reference/fcm/rest/v1/projects.messages). */
export const fcm = defineProvider({
  kind: 'fcm',
  channels: ['push'],
  description: 'Push over Firebase Cloud Messaging, to devices whose service is fcm.',
  options: {
    service_account: Type.String({
      minLength: 1,
      description: 'The JSON of the service account, or the path of its file relative to the configuration file.',
      examples: ['./firebase.json', '${FIREBASE_SERVICE_ACCOUNT}'],
    }),
    url: Type.Optional(Type.String({ description: 'Base URL of FCM.', default: 'https://fcm.googleapis.com' })),
    connections: http2Connections,
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const { timeout_seconds: seconds = 10, connections = 4 } = options
    const account = readAccount(options.service_account, context.folder)
    const timeoutMs = seconds * 1_000
    const { origin, pathname } = parseBaseUrl('url', options.url ?? 'https://fcm.googleapis.com')
    const client = createHttp2Client(origin, { connections, timeoutMs })
    const tokenClient = createHttpClient(account.tokenUri, { timeoutMs, connections: 1 })
    const sender: FcmSender = {
      client,
      path: `${pathname.replace(/\/$/, '')}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`,
      tokens: createAccessTokens(account, tokenClient, context.clock),
      ttlSeconds: options.ttl_seconds ?? maxTtlSeconds,
      now: () => context.clock.now(),
      proven: false,
    }
    return {
      timeoutMs: 2 * timeoutMs,
      batchSize: 10,
      supports: ({ service }) => service === 'fcm',
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(sender, message, signal))),
      async close() {
        client.close()
        await tokenClient.close()
      },
    }
  },
})

function readAccount(textOrFile: string, folder: string): ServiceAccount {
  try {
    return readServiceAccount(readTextOrFile(textOrFile, /^\s*\{/, folder))
  } catch (error) {
    throw new RangeError(`service_account ${(error as Error).message}`)
  }
}

/** Sends a push. A rejected access token is replaced once: it may have been revoked before it expired. */
async function sendPush(sender: FcmSender, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const data = fitData(message)
  const body = JSON.stringify({ message: createMessage(message, data, sender) })
  if (countPayloadBytes(message, data) > maxPayloadBytes)
    return { kind: 'permanent', code: 'PAYLOAD_TOO_LARGE', reason: `FCM accepts at most ${maxPayloadBytes} bytes` }
  const calledAt = sender.now()
  const first = await call(sender, body, signal)
  if (first.kind === 'result') return first.result
  if (!isTokenRejected(first.response)) return readResponse(sender, first.response, calledAt)
  sender.tokens.discard(first.token)
  const second = await call(sender, body, signal)
  return second.kind === 'result' ? second.result : readResponse(sender, second.response, calledAt)
}

function readResponse(sender: FcmSender, response: HttpResponse, calledAt: number): SendResult {
  const result = resultOfResponse(response, calledAt, sender.proven)
  if (result.kind === 'accepted') sender.proven = true
  return result
}

type CallResult =
  | { readonly kind: 'response'; readonly response: HttpResponse; readonly token: string }
  | { readonly kind: 'result'; readonly result: SendResult }

async function call({ client, path, tokens }: FcmSender, body: string, signal: AbortSignal): Promise<CallResult> {
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
    const response = await client.request(headers, body, signal)
    return { kind: 'response', response, token: access.token }
  } catch (error) {
    return { kind: 'result', result: resultOfStreamError(error) }
  }
}

/**
 * The message. A second one with the same id replaces the first on the device: Android keys notifications by tag, Apple
 * by collapse id, browsers by tag. Android's `collapse_key` is not set: FCM stores at most four of them for an offline
 * device and discards the rest.
 */
function createMessage(message: OutgoingMessage, data: PushData, { ttlSeconds: ttl, now }: FcmSender): object {
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

/** The size that FCM limits: notification and data. */
function countPayloadBytes({ content }: OutgoingMessage, data: PushData): number {
  return Buffer.byteLength([content.subject ?? '', content.body, ...Object.entries(data).flat()].join(''))
}

/** The size of a push with FCM, and what it accepts at most, in bytes. */
export function measureFcm(message: OutgoingMessage): PushSize {
  return { bytes: countPayloadBytes(message, fitData(message)), maxBytes: maxPayloadBytes }
}

/** The data; without the receipt token if the message is too large with it. */
function fitData(message: OutgoingMessage): PushData {
  const data = createPushData(message)
  return countPayloadBytes(message, data) > maxPayloadBytes ? createPushData(omitReceiptToken(message)) : data
}
