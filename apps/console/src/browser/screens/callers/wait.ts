import { formatDuration } from '../../parts/values/duration.ts'
import { useSettings } from '../../texts/settings.tsx'

/** Formats seconds to wait for people, in their largest unit. */
export function useWait(): (seconds: number) => string {
  const { settings } = useSettings()
  return (seconds) => formatDuration(seconds * 1_000, settings.language)
}
