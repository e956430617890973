package disk

import "github.com/tenonrun/tenon/permission"

// FoldNames lets a fence take the names below a directory as a volume that folds
// them, which few machines have at hand.
func (f *Fence) FoldNames(dir string, fold permission.Fold) {
	f.env.folding = append(f.env.folding, mount{dir: dir, fold: fold})
}
