import { type Static, Type } from 'typebox'

/** The longest time that two secrets of a client, or two keys, are valid at once: a week. */
const maxOverlapSeconds = 604_800

/** The body of a request for a new secret or key. */
export const OverlapBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxOverlapSeconds,
        description: 'How long the one that it replaces stays valid. Default: 0, invalid at once.',
        examples: [86_400],
      }),
    ),
  },
  { additionalProperties: false },
)

/** How long the secret or key that is replaced stays valid. */
export type Overlap = Static<typeof OverlapBody>
