import { useSettings } from '../../texts/settings.tsx'

interface ShareProps {
  readonly rejected: number
  readonly allowed: number
}

/** The share of requests that were rejected, as a bar and as a number. */
export function Share({ rejected, allowed }: ShareProps) {
  const { settings } = useSettings()
  const share = rejected + allowed === 0 ? 0 : rejected / (rejected + allowed)
  const percent = new Intl.NumberFormat(settings.language, { style: 'percent', maximumFractionDigits: 0 })
  return (
    <span className="share">
      <svg viewBox="0 0 60 8" width="60" height="8" aria-hidden="true" focusable="false">
        <rect width="60" height="8" rx="4" className="share-all" />
        <rect width={Math.round(60 * share)} height="8" rx="4" className="share-rejected" />
      </svg>
      {percent.format(share)}
    </span>
  )
}
