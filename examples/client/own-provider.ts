/**
 * A provider of your own: it receives the messages of the `http` provider, verifies them, hands them to whatever sends
 * them, and reports that they arrived.
 */
import { createServer, type Server } from 'node:http'
import { SignatureError, signWebhook, verifyWebhook, type WebhookMessage, type WebhookReport } from '@gatehouse/client'

export interface OwnProviderOptions {
  readonly secret: string
  /** Where reports go: `/v1/webhooks/http` of Gatehouse. */
  readonly reportUrl: string
  /** Sends a message. It may come again: `message.id` is the same then. */
  readonly send: (message: WebhookMessage) => Promise<void>
}

/** A server that receives messages at any path. */
export function ownProvider({ secret, send }: OwnProviderOptions): Server {
  const secrets = [secret]
  return createServer(async (request, response) => {
    try {
      const body = Buffer.concat(await request.toArray())
      const { message } = await verifyWebhook(body, request.headers, { secrets })
      await send(message)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: message.id }))
    } catch (error) {
      response.writeHead(error instanceof SignatureError ? 403 : 500).end()
    }
  })
}

/** Reports what became of a message. */
export async function report({ secret, reportUrl }: OwnProviderOptions, event: WebhookReport): Promise<void> {
  const body = JSON.stringify(event)
  const headers = { 'content-type': 'application/json', ...(await signWebhook(body, { secrets: [secret] })) }
  const answer = await fetch(reportUrl, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`the report was answered with ${answer.status}`)
}
