import { type TSchema, Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { type TimelineEntryType, timelineDetails, timelineEntryTypes } from '../../model/notification/timeline.ts'

/** An entry of a timeline in the API document: a union, discriminated by `what`. */
export const TimelineEntry = Type.Union(timelineEntryTypes.map(entrySchema))

function entrySchema(what: TimelineEntryType): TSchema {
  return Type.Object(
    {
      at: Type.String({ format: 'date-time' }),
      what: Type.Literal(what),
      channel: Type.Optional(Type.Enum([...channels])),
      detail: Type.Optional(timelineDetails[what]),
    },
    { title: titleOf(what) },
  )
}

/** `TimelineAttemptFailed` for `attempt_failed`. */
function titleOf(what: TimelineEntryType): string {
  return `Timeline${what.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`
}
