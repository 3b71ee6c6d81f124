import { Type } from 'typebox'

/** An object with no other members than its own. */
export const strict = { additionalProperties: false } as const

/** A setting that is a whole number within bounds. */
export const whole = (minimum: number, maximum: number, description: string, fallback?: number) =>
  Type.Optional(
    Type.Integer({ minimum, maximum, description, ...(fallback === undefined ? {} : { default: fallback }) }),
  )

/** A setting that counts something, 0 for none. */
export const count = (description: string) => whole(0, 1_000_000, description)

/** A setting in seconds, with a default in milliseconds. */
export const seconds = (min: number, max: number, description: string, fallbackMs: number) =>
  Type.Optional(Type.Number({ minimum: min, maximum: max, description, default: fallbackMs / 1000 }))

/** A whole number from `minimum`, or `none` for no limit. */
export const limit = (none: number, minimum: number, description: string) =>
  Type.Optional(
    Type.Union([Type.Literal(none), Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER })], { description }),
  )
