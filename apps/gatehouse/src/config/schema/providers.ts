import { type Channel, providerKinds } from '@gatehouse/notify'
import { type TSchema, Type } from 'typebox'

/** An entry of `providers:`, as far as every kind has it; the rest is the kind's own. */
export interface DeclaredProvider {
  readonly provider: string
  readonly name?: string
}

/** Who may carry a channel: one of several kinds, told apart by the member `provider`. */
function providersSchema(channel: Channel): TSchema {
  const kinds = providerKinds.filter(({ channels }) => channels.includes(channel))
  const entry = Type.Unsafe<DeclaredProvider>({
    type: 'object',
    discriminator: { propertyName: 'provider' },
    required: ['provider'],
    oneOf: kinds.map(({ declaration }) => declaration),
  })
  return Type.Array(entry, {
    minItems: 1,
    description: `Who carries ${channel}: the first that is well; the next takes over while it is in trouble.`,
  })
}

/** `providers:` in the configuration file. */
export const ProvidersSection = Type.Unsafe<Partial<Record<Channel, readonly DeclaredProvider[]>>>(
  Type.Object(
    Object.fromEntries(
      (['email', 'push', 'sms'] as const)
        .filter((channel) => providerKinds.some(({ channels }) => channels.includes(channel)))
        .map((channel) => [channel, Type.Optional(providersSchema(channel))]),
    ),
    { additionalProperties: false, description: 'Who carries what, by channel.' },
  ),
)
