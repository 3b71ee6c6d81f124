import type { TemplatePreview } from '@gatehouse/client'
import { useTexts } from '../../../texts/settings.tsx'

/** An item of the in-app feed, unread. */
export function InboxPreview({ item: { subject, body } }: { item: TemplatePreview }) {
  const t = useTexts()
  return (
    <div className="inbox-item">
      <span className="inbox-dot" role="img" aria-label={t.preview.unread} />
      <div>
        {subject !== undefined && <strong>{subject}</strong>}
        <p>{body}</p>
        <small>{t.preview.now}</small>
      </div>
    </div>
  )
}
