import { access } from './de/access.ts'
import { callers } from './de/callers.ts'
import { codes } from './de/codes.ts'
import { content } from './de/content.ts'
import { deliver } from './de/deliver.ts'
import { limits } from './de/limits.ts'
import { measure } from './de/measure.ts'
import { operate } from './de/operate.ts'
import { people } from './de/people.ts'
import { repair } from './de/repair.ts'
import { shell } from './de/shell.ts'
import type { Texts } from './en.ts'

/** The words of the console in German. */
export const de: Texts = {
  ...shell,
  ...measure,
  ...deliver,
  ...repair,
  ...content,
  ...people,
  ...access,
  ...limits,
  ...callers,
  ...operate,
  codes,
}
