import { type Static, type TObject, type TProperties, Type } from 'typebox'
import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/clock.ts'
import type { Provider } from '../model/provider.ts'

/** What every provider is built with, beside what is declared of it. */
export interface ProviderContext {
  /** What it is called: in metrics, timelines, breakers, and in the path of its webhooks. */
  readonly name: string
  readonly channel: Channel
  /** The sender of mail that names none, `Name <address>`. */
  readonly from: string
  /** Where the world reaches us, without a slash at the end. */
  readonly publicUrl: string
  /** Where relative paths of files start. */
  readonly folder: string
  readonly clock: Clock
}

/** A sort of provider: what may be declared of one, and how it is built from that. */
export interface ProviderKind {
  readonly kind: string
  readonly channels: readonly Channel[]
  /** An entry of `providers:` in the configuration; its member `provider` is the kind. */
  readonly optionsSchema: TObject
  /** Builds one from an entry that fits the declaration. Throws RangeError naming the member that can't be used. */
  create(declared: unknown, context: ProviderContext): Provider
}

/** Defines a kind: `members` beside those that every entry has. */
export function defineProvider<Members extends TProperties>(given: {
  readonly kind: string
  readonly channels: readonly Channel[]
  readonly description: string
  readonly members: Members
  readonly create: (declared: Static<TObject<Members>>, context: ProviderContext) => Provider
}): ProviderKind {
  const { kind, channels, description, members, create } = given
  const declaration = Type.Object(
    {
      provider: Type.Literal(kind),
      name: Type.Optional(
        Type.String({
          pattern: '^[a-z][a-z0-9-]{0,63}$',
          description: 'What it is called in metrics, timelines and the path of its webhooks. Default: the kind.',
        }),
      ),
      ...members,
    },
    { additionalProperties: false, description },
  )
  return {
    kind,
    channels,
    optionsSchema: declaration,
    create: (declared, context) => create(declared as Static<TObject<Members>>, context),
  }
}
