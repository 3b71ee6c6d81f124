import type { Clock } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { Channel } from '../../model/channel.ts'
import { deliveryIdOf, newIdOfUser } from '../../model/id.ts'
import type { Content } from '../../model/notification/notification.ts'
import { targetsOf } from '../../plan/message.ts'
import { emptyProfile, type Inbox, type Intake } from '../../store/store.ts'
import { callProvider, messageIdOf } from '../calls/call-provider.ts'

/**
 * Creates the test send of templates: it sends a rendered text to a user's current targets, by the first provider that
 * supports each. Preferences, caps, quiet hours and the dedup log are ignored, and nothing is recorded.
 */
export function createTestSend(
  { intake, inbox, clock }: { readonly intake: Intake; readonly inbox: Pick<Inbox, 'put'>; readonly clock: Clock },
  providers: Partial<Record<Channel, readonly Provider[]>>,
) {
  return async (channel: Channel, userId: string, content: Content): Promise<object[]> => {
    const { users } = await intake.readProfiles([userId])
    const targets = targetsOf(channel, userId, users.get(userId) ?? emptyProfile)
    const notificationId = newIdOfUser(userId)
    const deliveryId = deliveryIdOf(notificationId, channel)
    return Promise.all(
      targets.map(async (target) => {
        const provider = providers[channel]?.find((each) => each.supports?.(target) ?? true)
        if (!provider) return { target: target.id, kind: 'permanent', reason: 'no provider supports the target' }
        const id = messageIdOf(deliveryId, channel, target)
        const about = { id, deliveryId, notificationId, userId, channel, event: 'test', critical: false }
        const [result] = await callProvider(provider, [{ ...about, target, content }])
        if (result?.kind !== 'accepted') return { target: target.id, provider: provider.name, ...result }
        const { inInbox, ...answer } = result
        if (inInbox) {
          const { subject, body } = content
          const text = { body, ...(subject === undefined ? {} : { subject }) }
          await inbox.put([{ id: deliveryId, userId, event: about.event, createdAt: clock.now(), ...text }])
        }
        return { target: target.id, provider: provider.name, ...answer }
      }),
    )
  }
}
