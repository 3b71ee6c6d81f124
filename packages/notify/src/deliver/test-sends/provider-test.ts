import type { Provider, SendResult } from '@gatehouse/providers'
import { deliveryIdOf, newIdOfUser } from '../../model/id.ts'
import type { Target } from '../../model/notification/notification.ts'
import { callProvider, messageIdOf } from '../calls/call-provider.ts'

/** What a test call came to. */
export interface ProviderTestResult {
  readonly result: SendResult
  readonly durationMs: number
}

/** The user in whose name providers are tested: no message of it is recorded. */
const userId = 'provider-test'

/** Calls a provider once with a message of its own, past breakers and pauses. Nothing is recorded or counted. */
export async function testProvider(provider: Provider, target: Target): Promise<ProviderTestResult> {
  const { name, channel } = provider
  const notificationId = newIdOfUser(userId)
  const deliveryId = deliveryIdOf(notificationId, channel)
  const id = messageIdOf(deliveryId, channel, target)
  const content = { subject: `Test of ${name}`, body: `This message tests the provider ${name}.`, locale: 'en' }
  const about = { id, deliveryId, notificationId, userId, channel, event: 'test', critical: false }
  const begunAt = performance.now()
  const [result] = await callProvider(provider, [{ ...about, target, content }])
  if (!result) throw new Error(`the provider ${name} returned no result`)
  return { result, durationMs: Math.round(performance.now() - begunAt) }
}
