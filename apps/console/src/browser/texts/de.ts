import { access } from './de/access.ts'
import { callers } from './de/callers.ts'
import { codes } from './de/codes.ts'
import { deliver } from './de/deliver.ts'
import { operate } from './de/operate.ts'
import { people } from './de/people.ts'
import { shell } from './de/shell.ts'
import type { Texts } from './en.ts'

/** The words of the console in German. */
export const de: Texts = { ...shell, ...people, ...access, ...deliver, ...operate, ...callers, codes }
