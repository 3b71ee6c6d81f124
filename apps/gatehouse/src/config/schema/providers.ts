import type { Channel } from '@gatehouse/notify'
import { type ProviderOptions, providerKinds } from '@gatehouse/providers'
import { type TSchema, Type } from 'typebox'

/** An entry of `providers:`; its other options are those of its kind. */
export type DeclaredProvider = ProviderOptions

/** The providers of a channel. The member `provider` of an entry selects the kind. */
function channelSchema(channel: Channel): TSchema {
  const kinds = providerKinds.filter(({ channels }) => channels.includes(channel))
  const entry = Type.Unsafe<DeclaredProvider>({
    type: 'object',
    discriminator: { propertyName: 'provider' },
    required: ['provider'],
    oneOf: kinds.map(({ optionsSchema }) => optionsSchema),
  })
  return Type.Array(entry, {
    minItems: 1,
    description: `Providers of ${channel}: the first healthy one is used.`,
  })
}

/** `providers:` in the configuration file. */
export const ProvidersSection = Type.Unsafe<Partial<Record<Channel, readonly DeclaredProvider[]>>>(
  Type.Object(
    Object.fromEntries(
      (['email', 'push', 'sms'] as const)
        .filter((channel) => providerKinds.some(({ channels }) => channels.includes(channel)))
        .map((channel) => [channel, Type.Optional(channelSchema(channel))]),
    ),
    { additionalProperties: false, description: 'Providers by channel.' },
  ),
)
